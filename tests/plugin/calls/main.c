// SPDX-License-Identifier: BSD-2-Clause
/* Runs the kernel's counting of calls (mm/memorizer/calls.c, calls_entry.S) in a process: the
 * compiler's calls of __fentry__ lead there, from threads that stand for CPUs and signals that
 * stand for interrupts. Prints a line for each check. */
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "entry-offsets.h"
#include "traced.h"

_Static_assert(offsetof(struct task, memorizer.tag) == MEMORIZER_tag, "tag");
_Static_assert(offsetof(struct hot, preempt_count) == MEMORIZER_preempt_count, "count");
_Static_assert(offsetof(struct memorizer_cpu, irq_tag) == MEMORIZER_irq_tag, "irq_tag");
_Static_assert(MEMORIZER_IRQ_BITS == MEMORIZER_irq_bits, "irq_bits");
_Static_assert(offsetof(struct memorizer_calls, call) == MEMORIZER_calls_call, "call");
_Static_assert(offsetof(struct memorizer_call, tag) == MEMORIZER_call_tag, "call.tag");
_Static_assert(offsetof(struct memorizer_call, count) == MEMORIZER_call_count, "call.count");
_Static_assert(sizeof(struct memorizer_call) == MEMORIZER_call_size, "size");
_Static_assert(MEMORIZER_CALLS_FACTOR == MEMORIZER_calls_factor, "factor");

#define IRQ_TAG (1ULL << 32)
#define ROUNDS	10000 /* at least */
#define ENOUGH	40    /* interrupts on each CPU */
#define POOL	(256ul << 20)

PERCPU struct hot pcpu_hot;
PERCPU struct memorizer_cpu memorizer_cpu = {.irq_tag = IRQ_TAG};
extern char __start_percpu[], __stop_percpu[];
long cpu_offset[NCPUS];

static char *pool;
static size_t pool_used, pool_limit = POOL;
static int registered, failures;

long my_offset(void)
{
	long base;

	syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
	return base;
}

static void on_cpu(int cpu)
{
	syscall(SYS_arch_prctl, ARCH_SET_GS, cpu_offset[cpu]);
}

int register_ftrace_function(struct ftrace_ops *ops)
{
	(void)ops;
	registered++;
	return 0;
}

int unregister_ftrace_function(struct ftrace_ops *ops)
{
	(void)ops;
	registered--;
	return 0;
}

bool memorizer_selected(void)
{
	return preempt_count() & MEMORIZER_IRQ_BITS || !(current->memorizer.tag & MEMORIZER_HIDDEN);
}

void memorizer_kick_worker(void)
{
}

/* Any context, like the kernel's. */
void *memorizer_pool_alloc(size_t size)
{
	size_t at = __atomic_fetch_add(&pool_used, size, __ATOMIC_RELAXED);

	if (at + size <= pool_limit)
		return pool + at;
	__atomic_fetch_sub(&pool_used, size, __ATOMIC_RELAXED);
	return NULL;
}

void memorizer_pool_free(void *p)
{
	(void)p;
}

/* All counts of calls of a function, by a process (0: all). */
static u64 counted(void *function, u64 tag)
{
	u64 sum = 0;

	for (int cpu = 0; cpu < NCPUS; cpu++)
		for (struct memorizer_calls *t = per_cpu(memorizer_calls, cpu); t; t = t->prev)
			for (u32 i = 0; i < memorizer_calls_nr(t); i++)
				if (t->call[i].edge &&
				    (!function || memorizer_calls_function(t->call[i].edge) ==
							  (unsigned long)function) &&
				    (!tag || t->call[i].tag == tag))
					sum += t->call[i].count;
	return sum;
}

/* Of the calls of one function, those from another: its code is where the return address is. */
static u64 edge(void *from, size_t size, void *to)
{
	u64 sum = 0;

	for (int cpu = 0; cpu < NCPUS; cpu++)
		for (struct memorizer_calls *t = per_cpu(memorizer_calls, cpu); t; t = t->prev)
			for (u32 i = 0; i < memorizer_calls_nr(t); i++)
				if (memorizer_calls_function(t->call[i].edge) ==
					    (unsigned long)to &&
				    (t->call[i].edge >> 32) - (unsigned long)from < size)
					sum += t->call[i].count;
	return sum;
}

static u64 misses(int what)
{
	u64 sum = 0;

	for (int cpu = 0; cpu < NCPUS; cpu++)
		sum += per_cpu(memorizer_cpu, cpu).miss[what];
	return sum;
}

static void expect(const char *what, u64 got, u64 want)
{
	if (got == want) {
		printf("ok %s: %llu\n", what, (unsigned long long)got);
		return;
	}
	printf("not ok %s: %llu, not %llu\n", what, (unsigned long long)got,
	       (unsigned long long)want);
	failures++;
}

static void reset(void)
{
	memorizer_calls_set(false, false);
	memorizer_calls_clear();
	pool_used = 0;
	memset(pool, 0, POOL);
	memorizer_calls_set(true, false);
}

/* What target() returns in a loop of n. */
static long want_sum(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i + 2 + 3 * i + 10 + 7 * i + 33;
	return sum;
}

static void exact(struct task *me)
{
	long sum;

	reset();
	sum = direct() + pointed();
	expect("arguments survive", (u64)sum, (u64)(want_sum(DIRECT) + want_sum(POINTED)));
	expect("and those in vector registers", (u64)variadic(3, 1.5, 2.5, 4.0), 8);
	expect("direct calls",
	       edge((void *)direct, (char *)pointed - (char *)direct, (void *)target), DIRECT);
	expect("calls through a pointer",
	       edge((void *)pointed, (char *)deep - (char *)pointed, (void *)target), POINTED);
	deep(DEPTH);
	expect("a function that calls itself", counted((void *)deep, me->memorizer.tag), DEPTH + 1);
	me->memorizer.tag |= MEMORIZER_HIDDEN;
	direct();
	me->memorizer.tag &= ~MEMORIZER_HIDDEN;
	expect("hidden, nothing is counted", counted((void *)target, 0), DIRECT + POINTED);
	memorizer_calls_set(false, false);
	direct();
	expect("off, nothing is counted", counted((void *)target, 0), DIRECT + POINTED);
	expect("ftrace was left", (u64)registered, 0);
	memorizer_calls_clear();
	expect("cleared", counted(NULL, 0), 0);
	reset();
	raw_cpu_ptr(&pcpu_hot)->preempt_count = NMI_MASK;
	direct();
	raw_cpu_ptr(&pcpu_hot)->preempt_count = 0;
	expect("in NMI, calls are lost and counted", misses(CALL_NMI), DIRECT + 1);
	expect("and nothing else", counted(NULL, 0), 0);
	memorizer_calls_set(true, true);
	direct();
	expect("with marks, the long way counts the same", counted((void *)target, 0), DIRECT);
}

static struct task tasks[NCPUS + 1];
static volatile u64 interrupts[NCPUS];
static u64 rounds[NCPUS + 1];
static volatile bool stop;
static __thread int my_cpu;
static pthread_barrier_t ready;

static void on_signal(int sig)
{
	struct hot *hot = raw_cpu_ptr(&pcpu_hot);

	(void)sig;
	hot->preempt_count += HARDIRQ_OFFSET;
	in_interrupt();
	hot->preempt_count -= HARDIRQ_OFFSET;
	interrupts[my_cpu]++;
}

/* Thread NCPUS runs on CPU 0, in the middle of what thread 0 does there. */
static void *run(void *arg)
{
	long n = (long)arg;

	my_cpu = (int)(n % NCPUS);
	on_cpu(my_cpu);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < ROUNDS || !stop; i++) {
		direct();
		pointed();
		if (i % 64 == 0)
			many(i, i + MANY / 4);
		rounds[n]++;
	}
	return NULL;
}

/* CPU 0 has two threads and no interrupts: they would be the other thread's, too. */
static void parallel(void)
{
	pthread_t threads[NCPUS + 1];
	u64 all = 0, of_many = 0, want_many = 0;

	reset();
	pthread_barrier_init(&ready, NULL, NCPUS + 2);
	for (long i = 0; i <= NCPUS; i++) {
		tasks[i].memorizer.tag = (u64)(i % NCPUS + 1000) << 32;
		per_cpu(pcpu_hot, i % NCPUS).current_task = &tasks[i];
	}
	for (long i = 0; i <= NCPUS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	pthread_barrier_wait(&ready);
	for (int i = 1; i < NCPUS; i++)
		while (interrupts[i] < ENOUGH) {
			pthread_kill(threads[i], SIGUSR1);
			usleep(50);
		}
	stop = true;
	for (int i = 0; i <= NCPUS; i++)
		pthread_join(threads[i], NULL);
	memorizer_calls_set(false, false);
	for (int i = 0; i < NCPUS; i++) {
		char what[64];

		snprintf(what, sizeof(what), "process %d, which %s", i,
			 i ? "is interrupted" : "is two threads");
		expect(what, counted((void *)target, tasks[i].memorizer.tag),
		       (rounds[i] + (i ? 0 : rounds[NCPUS])) * (DIRECT + POINTED));
		all += interrupts[i];
	}
	expect("interrupts", counted((void *)target, IRQ_TAG), all);
	for (int i = 0; i <= NCPUS; i++)
		want_many += (rounds[i] + 63) / 64 * (MANY / 4);
	for (int i = 0; i < MANY; i++)
		of_many += counted(many_of(i), 0);
	expect("a thousand functions, in tables that grew", of_many, want_many);
	expect("none is missing", misses(CALL_MEMORY), 0);
}

/* With no room for more, an edge counts under no process, or is lost: the sum is right. */
static void budget(void)
{
	struct task *me = current;
	u64 before;

	pool_limit = sizeof(struct memorizer_calls) +
		     MEMORIZER_CALLS_MIN * sizeof(struct memorizer_call);
	reset();
	before = misses(CALL_MEMORY);
	for (int i = 0; i < 8; i++) {
		me->memorizer.tag = (u64)(2000 + i) << 32;
		many(0, MANY);
	}
	memorizer_calls_set(false, false);
	expect("without memory, counted and lost are all",
	       counted(NULL, 0) + misses(CALL_MEMORY) - before, 8 * (MANY + 1));
	expect("some are lost", misses(CALL_MEMORY) > before, 1);
	expect("some are under no process", counted(NULL, MEMORIZER_CALLS_FOLDED) > 0, 1);
	expect("those are as many as it says", counted(NULL, MEMORIZER_CALLS_FOLDED),
	       raw_cpu_read(memorizer_cpu.calls_folded));
}

int main(void)
{
	static struct task me = {.memorizer.tag = 43ULL << 32};
	size_t size = (size_t)(__stop_percpu - __start_percpu);

	setvbuf(stdout, NULL, _IOLBF, 0);
	pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int cpu = 0; cpu < NCPUS; cpu++) {
		char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		memcpy(copy, __start_percpu, size);
		cpu_offset[cpu] = copy - __start_percpu;
	}
	on_cpu(0);
	signal(SIGUSR1, on_signal);
	per_cpu(pcpu_hot, 0).current_task = &me;
	exact(&me);
	parallel();
	on_cpu(0);
	per_cpu(pcpu_hot, 0).current_task = &me;
	budget();
	return failures != 0;
}
