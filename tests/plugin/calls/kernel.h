/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As much of the kernel as mm/memorizer/calls.c needs, in a process: per CPU variables are copies
 * of a section, and %gs leads to that of the thread's CPU.
 */
#ifndef CALLS_KERNEL_H
#define CALLS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define NCPUS 4

#define likely(x)	     (x)
#define unlikely(x)	     (x)
#define min(a, b)	     ((a) < (b) ? (a) : (b))
#define IS_ENABLED(x)	     0
#define READ_ONCE(x)	     (*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)     (*(volatile __typeof__(x) *)&(x) = (v))
#define smp_store_mb(x, v)   __atomic_store_n(&(x), (v), __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new) __sync_val_compare_and_swap((p), (old), (new))
#define xchg(p, v)	     __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define try_cmpxchg(p, old, new)                                                                   \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define PERCPU			   __attribute__((section("percpu")))
#define DECLARE_PER_CPU(type, var) extern type var
#define DEFINE_PER_CPU(type, var)  PERCPU type var
#define per_cpu_ptr(p, cpu)	   ((__typeof__(p))((char *)(p) + cpu_offset[cpu]))
#define per_cpu(var, cpu)	   (*per_cpu_ptr(&(var), cpu))
#define raw_cpu_ptr(p)		   ((__typeof__(p))((char *)(p) + my_offset()))
#define raw_cpu_read(var)	   (*raw_cpu_ptr(&(var)))
#define this_cpu_inc(var)	   __atomic_fetch_add(raw_cpu_ptr(&(var)), 1, __ATOMIC_RELAXED)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < NCPUS; (cpu)++)

extern long cpu_offset[NCPUS];
long my_offset(void);

#define NMI_MASK	   0xf00000u
#define HARDIRQ_OFFSET	   0x10000u
#define MEMORIZER_IRQ_BITS 0xff0100u
#define MEMORIZER_HIDDEN   (1ULL << 63)

struct task {
	u64 unused;
	struct {
		u64 tag;
	} memorizer;
};

struct hot {
	struct task *current_task;
	u32 preempt_count;
};

enum { CALL_NMI, CALL_MEMORY, NR_MISSES };

struct memorizer_cpu {
	u64 irq_tag;
	u64 calls_folded;
	u64 miss[NR_MISSES];
};

extern struct hot pcpu_hot;
extern struct memorizer_cpu memorizer_cpu;

#define current			  raw_cpu_read(pcpu_hot.current_task)
#define preempt_count()		  raw_cpu_read(pcpu_hot.preempt_count)
#define preempt_disable_notrace() ((void)0)
#define memorizer_access_end()	  ((void)0)
#define memorizer_inc(p)	  __atomic_fetch_add((p), 1, __ATOMIC_RELAXED)
#define memorizer_miss(what)	  this_cpu_inc(memorizer_cpu.miss[what])
#define memorizer_pack_ip(ip)	  ((u32)(ip))
#define memorizer_unpack_ip(ip)	  ((unsigned long)(u32)(ip))

struct mutex {
	int unused;
};

#define DEFINE_MUTEX(m)		     struct mutex m
#define mutex_lock(m)		     ((void)(m))
#define mutex_unlock(m)		     ((void)(m))
#define memorizer_lock()	     0ul
#define memorizer_unlock(f)	     ((void)(f))
#define synchronize_rcu()	     ((void)0)
#define synchronize_rcu_tasks()	     ((void)0)
#define synchronize_rcu_tasks_rude() ((void)0)
#define cond_resched()		     ((void)0)

#define MCOUNT_INSN_SIZE	5
#define FTRACE_OPS_FL_PERMANENT 1

struct ftrace_regs;
struct ftrace_ops {
	void (*func)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
		     struct ftrace_regs *fregs);
	unsigned long flags, trampoline;
};

int register_ftrace_function(struct ftrace_ops *ops);
int unregister_ftrace_function(struct ftrace_ops *ops);
bool memorizer_selected(void);
void memorizer_kick_worker(void);
void *memorizer_pool_alloc(size_t size);
void memorizer_pool_free(void *p);
int memorizer_calls_set(bool on, bool marked);
void memorizer_calls_clear(void);

#endif
