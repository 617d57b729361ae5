// SPDX-License-Identifier: GPL-2.0
/*
 * Count how often each call site calls each function, by process.
 *
 * ftrace makes the entry of each function call memorizer_calls_entry, which
 * finds the counter of an edge that is known. Everything else is here: new
 * edges, marked tasks, switching on and off.
 *
 * A call takes no lock: slots are claimed with cmpxchg, counters are
 * incremented atomically. A task may be moved to another CPU in between; it
 * then counts in the table of the old one.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "access.h"
#include "calls.h"

/* Never matches an edge: what is looked up here goes to memorizer_call(). */
static struct {
	struct memorizer_calls head;
	struct memorizer_call call[2];
} no_calls;

DEFINE_PER_CPU(struct memorizer_calls *, memorizer_calls);
DEFINE_PER_CPU(struct memorizer_calls *, memorizer_calls_fast) = &no_calls.head;
DEFINE_MUTEX(memorizer_calls_mutex);

static bool memorizer_calls_counting;	/* by this name the tests find it */
static bool fast;		/* counting all tasks: no look at marks */

static struct memorizer_calls *new_table(u32 nr)
{
	struct memorizer_calls *new;

	new = memorizer_pool_alloc(sizeof(*new) + nr * sizeof(struct memorizer_call));
	if (new)
		new->mask = (nr - 1) * sizeof(struct memorizer_call);
	return new;
}

/* Until it is the newest: an interrupt may put another one in front meanwhile. */
static void publish(struct memorizer_calls **at, struct memorizer_calls **fast_at)
{
	struct memorizer_calls *calls;

	do {
		calls = READ_ONCE(*at);
		smp_store_mb(*fast_at, calls ?: &no_calls.head);
	} while (READ_ONCE(*at) != calls);
}

/* Put a larger table before @old, which may be NULL, unless another CPU did. */
static bool grow(struct memorizer_calls **at, struct memorizer_calls **fast_at,
		 struct memorizer_calls *old)
{
	u32 nr = old ? min(memorizer_calls_nr(old) * 4, MEMORIZER_CALLS_MAX) :
		       MEMORIZER_CALLS_MIN;
	struct memorizer_calls *new = new_table(nr);
	unsigned long flags;

	if (!new && old)
		new = new_table(MEMORIZER_CALLS_MIN);
	if (!new)
		return false;
	new->prev = old;
	new->number = old ? old->number + 1 : 0;
	/* Pairs with the address dependency of the readers of the pointer. */
	if (cmpxchg(at, old, new) != old) {
		flags = memorizer_lock();
		memorizer_pool_free(new);
		memorizer_unlock(flags);
	} else if (READ_ONCE(fast)) {
		publish(at, fast_at);
	}
	return true;
}

/* The counter in one table, entered if it is not there; NULL: no room. */
static struct memorizer_call *find(struct memorizer_calls *calls, u64 edge, u64 tag)
{
	struct memorizer_call *call;
	u64 found;
	u32 n;

	for (n = 0; n < MEMORIZER_CALLS_REACH; n++) {
		call = memorizer_calls_slot(calls, edge, tag, n);
		found = READ_ONCE(call->edge);
		if (!found && try_cmpxchg(&call->edge, &found, edge)) {
			/*
			 * Code that interrupts this takes another slot for the
			 * same edge.
			 */
			WRITE_ONCE(call->tag, tag);
			WRITE_ONCE(calls->used, calls->used + 1);
			return call;
		}
		if (found == edge && READ_ONCE(call->tag) == tag)
			return call;
	}
	return NULL;
}

/*
 * Without memory for a new counter, the call counts under pid -1, or not at
 * all.
 */
static struct memorizer_call *fold(struct memorizer_calls *calls, u64 edge)
{
	struct memorizer_call *call = NULL;

	memorizer_kick_worker();
	if (calls)
		call = find(calls, edge, MEMORIZER_CALLS_FOLDED);
	if (call)
		this_cpu_inc(memorizer_cpu.calls_folded);
	else
		memorizer_miss(CALL_MEMORY);
	return call;
}

static void count(u64 edge, u64 tag)
{
	struct memorizer_calls **at = raw_cpu_ptr(&memorizer_calls);
	struct memorizer_calls **fast_at = raw_cpu_ptr(&memorizer_calls_fast);
	struct memorizer_calls *calls;
	struct memorizer_call *call = NULL;

	do {
		calls = READ_ONCE(*at);
		if (calls)
			call = find(calls, edge, tag);
	} while (!call && grow(at, fast_at, calls));
	if (!call)
		call = fold(calls, edge);
	if (!call)
		return;
	memorizer_inc(&call->count);
	/* Sparse, so that most edges are in their first two slots. */
	if (unlikely(calls->used > memorizer_calls_nr(calls) / 4) &&
	    memorizer_calls_nr(calls) < MEMORIZER_CALLS_MAX && READ_ONCE(*at) == calls)
		grow(at, fast_at, calls);
}

/* A call that calls_entry.S did not count. Any context. */
void memorizer_call(u64 edge)
{
	preempt_disable_notrace();
	if (!READ_ONCE(memorizer_calls_counting) || !memorizer_selected())
		;
	else if (unlikely(preempt_count() & NMI_MASK))
		memorizer_miss(CALL_NMI);
	else if (preempt_count() & MEMORIZER_IRQ_BITS)
		count(edge, raw_cpu_read(memorizer_cpu.irq_tag));
	else
		count(edge, current->memorizer.tag);
	memorizer_access_end();
}

/* How calls_entry.S sees it: the address behind the function's call of ftrace. */
static void traced(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
		   struct ftrace_regs *fregs)
{
	memorizer_call((u64)memorizer_pack_ip(parent_ip) << 32 |
		       memorizer_pack_ip(ip + MCOUNT_INSN_SIZE));
}

/* Where the function of an edge begins. */
unsigned long memorizer_calls_function(u64 edge)
{
	unsigned long ip = memorizer_unpack_ip((u32)edge) - MCOUNT_INSN_SIZE;

	/*
	 * Before the call there is room for an endbr, whether the endbr was
	 * sealed or not.
	 */
	return IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? ip - 4 : ip;
}

/* With a trampoline of its own; @func is for functions that others trace, too. */
static struct ftrace_ops ops = {
	.func = traced,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

static void set_fast(bool on)
{
	struct memorizer_calls **fast_at;
	int cpu;

	WRITE_ONCE(fast, on);
	for_each_possible_cpu(cpu) {
		fast_at = per_cpu_ptr(&memorizer_calls_fast, cpu);
		if (on)
			publish(per_cpu_ptr(&memorizer_calls, cpu), fast_at);
		else
			WRITE_ONCE(*fast_at, &no_calls.head);
	}
}

static int set_counting(bool on)
{
	int err = 0;

	if (on == memorizer_calls_counting)
		return 0;
	if (on) {
		ops.trampoline = (unsigned long)memorizer_calls_entry;
		err = register_ftrace_function(&ops);
	}
	if (!err)
		WRITE_ONCE(memorizer_calls_counting, on);
	return on ? err : unregister_ftrace_function(&ops);
}

/*
 * All functions begin and end to count at the same time: they are patched while
 * nothing is counted. @marked: not all tasks.
 */
int memorizer_calls_set(bool on, bool marked)
{
	int err = 0;

	mutex_lock(&memorizer_calls_mutex);
	if (on != memorizer_calls_counting || fast != (on && !marked)) {
		set_fast(false);
		/*
		 * Code that has seen the old value may have published a table
		 * since.
		 */
		synchronize_rcu();
		set_fast(false);
		err = set_counting(on);
		if (!err)
			set_fast(on && !marked);
	}
	mutex_unlock(&memorizer_calls_mutex);
	return err;
}

/* After the two waits no code is in calls_entry.S or in what it calls. */
static void free_tables(void)
{
	struct memorizer_calls *calls, *prev;
	unsigned long flags;
	int cpu;

	synchronize_rcu_tasks();
	synchronize_rcu_tasks_rude();
	for_each_possible_cpu(cpu) {
		calls = xchg(per_cpu_ptr(&memorizer_calls, cpu), NULL);
		for (; calls; calls = prev) {
			prev = calls->prev;
			flags = memorizer_lock();
			memorizer_pool_free(calls);
			memorizer_unlock(flags);
		}
	}
}

/* Sets all counts to 0; while nothing is counted, gives the memory back, too. */
void memorizer_calls_clear(void)
{
	struct memorizer_calls *calls;
	int cpu;
	u32 i;

	mutex_lock(&memorizer_calls_mutex);
	for_each_possible_cpu(cpu) {
		for (calls = per_cpu(memorizer_calls, cpu); calls; calls = calls->prev) {
			for (i = 0; i < memorizer_calls_nr(calls); i++)
				if (READ_ONCE(calls->call[i].count))
					xchg(&calls->call[i].count, 0);
			cond_resched();
		}
	}
	if (!memorizer_calls_counting)
		free_tables();
	mutex_unlock(&memorizer_calls_mutex);
}
