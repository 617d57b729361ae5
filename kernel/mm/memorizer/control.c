// SPDX-License-Identifier: GPL-2.0
/*
 * What is on: modes, marks, boot parameters; and the worker that keeps some
 * of the budget free.
 */
#define pr_fmt(fmt) "memorizer: " fmt

#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "access.h"
#include "memorizer.h"

#define MIN_BUDGET	(4UL << 20)

/* 0 off, 1 all, 2 marked tasks and interrupts, 3 marked tasks */
int memorizer_mode;
bool memorizer_reclaim_policy = true;
atomic_t memorizer_streams;		/* open readers of kmap_stream */

static bool log_access;
static bool log_calls;
static pid_t marked_pid;
u32 memorizer_mark_generation = 1;	/* 0 is an unmarked task */
static bool ready;
static DEFINE_MUTEX(control_mutex);

static bool enabled_boot __initdata = true;
static bool log_boot __initdata;
static bool calls_boot __initdata;
static unsigned long budget __initdata;

static int __init parse_enabled(char *arg)
{
	return kstrtobool(arg, &enabled_boot);
}
early_param("memorizer_enabled_boot", parse_enabled);

static int __init parse_log(char *arg)
{
	return kstrtobool(arg, &log_boot);
}
early_param("mem_log_boot", parse_log);

static int __init parse_calls(char *arg)
{
	return kstrtobool(arg, &calls_boot);
}
early_param("cfg_log_boot", parse_calls);

/* A parameter without a value comes as NULL. */
static int __init parse_mem(char *arg)
{
	char *end = arg;
	unsigned long n = arg ? memparse(arg, &end) : 0;

	if (!arg || end == arg || *end) {
		pr_warn("memorizer_mem=%s is not a size; an eighth of the memory is taken\n",
			arg ?: "");
		return 0;
	}
	/*
	 * 0 means "not given" later on; 1 is too little, which is reported
	 * there.
	 */
	budget = n ?: 1;
	return 0;
}
early_param("memorizer_mem", parse_mem);

static int __init parse_full(char *arg)
{
	if (!arg || (strcmp(arg, "reclaim") && strcmp(arg, "keep")))
		return -EINVAL;
	memorizer_reclaim_policy = !strcmp(arg, "reclaim");
	return 0;
}
early_param("memorizer_full", parse_full);

/*
 * From here to memorizer_show() what this task does is Memorizer's own
 * business. Interrupts are not affected. Task context only. The rest of the tag
 * stays as it is: another CPU may have changed the owner meanwhile.
 */
u64 memorizer_hide(void)
{
	u64 old = READ_ONCE(current->memorizer.tag);

	arch_set_bit(MEMORIZER_HIDDEN_BIT, (unsigned long *)&current->memorizer.tag);
	memorizer_tag_changed();
	return old;
}

void memorizer_show(u64 old)
{
	if (old & MEMORIZER_HIDDEN)
		return;
	arch_clear_bit(MEMORIZER_HIDDEN_BIT, (unsigned long *)&current->memorizer.tag);
	memorizer_tag_changed();
}

bool memorizer_task_is_marked(struct task_struct *task)
{
	return memorizer_task_marked(task);
}

/* Mark a process: all its threads, and those to come. */
void memorizer_task_mark(struct task_struct *task, bool on)
{
	struct task_struct *t;

	rcu_read_lock();
	for_each_thread(task, t)
		WRITE_ONCE(t->memorizer.mark, on ? memorizer_mark_generation : 0);
	rcu_read_unlock();
}

/* The child has its pid; the mark was copied with the rest of the parent. */
void memorizer_task_fork(struct task_struct *task)
{
	task->memorizer.tag = memorizer_tag(task->pid);
}

static void set_key(struct static_key_false *key, bool on)
{
	if (on)
		static_branch_enable(key);
	else
		static_branch_disable(key);
}

/*
 * The plugin's code is patched while nothing is counted, so that all of it begins
 * at the same time. There are several 100,000 places to patch, which takes a
 * while. A switch that is turned off and on again need not wait for that: the
 * places are patched back when counting has been off for some time.
 */
#define PATCH_BACK_AFTER	(10 * HZ)

static void patch_back_fn(struct work_struct *work)
{
	mutex_lock(&control_mutex);
	if (!memorizer_counting)
		static_branch_disable(&memorizer_counting_key);
	mutex_unlock(&control_mutex);
}
static DECLARE_DELAYED_WORK(patch_back, patch_back_fn);

static void set_counting(bool on)
{
	if (on)
		static_branch_enable(&memorizer_counting_key);
	WRITE_ONCE(memorizer_counting, on);
	memorizer_set_fast();
	if (!on && static_key_enabled(&memorizer_counting_key))
		mod_delayed_work(system_wq, &patch_back, PATCH_BACK_AFTER);
}

static int apply(void)
{
	bool on = memorizer_mode;

	set_key(&memorizer_marked_key, memorizer_mode > 1);
	if (on)
		static_branch_enable(&memorizer_known_key);
	set_key(&memorizer_on_key, on);
	set_counting(on && log_access);
	return memorizer_calls_set(on && log_calls, memorizer_mode > 1);
}

/*
 * @task: the one to mark in modes 2 and 3; @pid: its number, if it was chosen by
 * that. Marks outlive mode 0: a recording that is switched off and on again
 * continues with the same processes.
 */
int memorizer_set_mode(int mode, struct task_struct *task, pid_t pid)
{
	int err;

	if (!memorizer_pages)
		return -ENOMEM;
	mutex_lock(&control_mutex);
	if (mode > 1)
		memorizer_task_mark(task, true);
	marked_pid = pid;
	WRITE_ONCE(memorizer_mode, mode);
	err = apply();
	/* After this, no code counts in the old mode any more. */
	if (mode > 1)
		synchronize_rcu();
	mutex_unlock(&control_mutex);
	return err;
}

/* Off, and no task is marked any more: a new generation outdates all marks. */
int memorizer_forget_marks(void)
{
	int err = memorizer_set_mode(0, NULL, 0);

	if (err)
		return err;
	mutex_lock(&control_mutex);
	if (!++memorizer_mark_generation)
		memorizer_mark_generation = 1;
	mutex_unlock(&control_mutex);
	return 0;
}

bool memorizer_log_access(void)
{
	return log_access;
}

int memorizer_set_log_access(bool on)
{
	if (!memorizer_pages)
		return -ENOMEM;
	mutex_lock(&control_mutex);
	log_access = on;
	apply();
	mutex_unlock(&control_mutex);
	return 0;
}

bool memorizer_log_calls(void)
{
	return log_calls;
}

/* ftrace may refuse: it may be switched off. Then nothing is switched on here. */
int memorizer_set_log_calls(bool on)
{
	int err;

	if (!memorizer_pages)
		return -ENOMEM;
	mutex_lock(&control_mutex);
	log_calls = on;
	err = apply();
	if (err)
		log_calls = false;
	mutex_unlock(&control_mutex);
	return err;
}

/* The value to write for this state, then its meaning in words. */
int memorizer_state_words(char *buf, size_t size)
{
	switch (memorizer_mode) {
	case 0:
		return scnprintf(buf, size, "0 - memorizer disabled\n");
	case 1:
		return scnprintf(buf, size, "1 - memorizer enabled, all processes\n");
	case 2:
		return scnprintf(buf, size,
			"2 - memorizer enabled, marked processes and interrupts\n");
	}
	if (marked_pid)
		return scnprintf(buf, size,
			"pid %d - memorizer enabled, marked processes, %d the last\n",
			marked_pid, marked_pid);
	return scnprintf(buf, size, "3 - memorizer enabled, marked processes\n");
}

#define WORK_PAUSE	(HZ / 10)

/* When the worker may be called again, in jiffies. */
static unsigned long next_work;

/*
 * How many dead objects to drop before the pool is asked again: a part of
 * them, so that a small pool does not lose nearly all for a few chunks.
 */
static u64 drop_step(void)
{
	return max_t(u64, READ_ONCE(memorizer_totals.dead) / 8, 512);
}

static void work_fn(struct work_struct *work)
{
	u64 old = memorizer_hide();

	mutex_lock(&memorizer_mutex);
	memorizer_map_collect();
	mutex_unlock(&memorizer_mutex);
	while (memorizer_pool_low() && memorizer_reclaim_policy &&
	       !atomic_read(&memorizer_streams) &&
	       memorizer_drop_dead(drop_step(), false,
				   &memorizer_totals.reclaimed))
		;
	/* All memory is in use: checking again at once would not help. */
	if (memorizer_pool_low())
		WRITE_ONCE(next_work, jiffies + WORK_PAUSE);
	memorizer_warn_lost();
	memorizer_show(old);
}

static DECLARE_WORK(work, work_fn);
static int kicked;

/* In hard interrupt context, where everything may be called. */
static void kick_fn(struct irq_work *irq_work)
{
	u64 old = this_cpu_read(memorizer_cpu.irq_tag);

	memorizer_set_irq_tag(old | MEMORIZER_HIDDEN);
	/*
	 * A caller that finds this set relies on the checks below to see its
	 * change.
	 */
	smp_store_mb(kicked, 0);
	if (memorizer_stream_wanted())
		memorizer_stream_wake_now();
	if (memorizer_pool_low() || memorizer_limbo >= MEMORIZER_LIMBO_MAX)
		queue_work(system_unbound_wq, &work);
	memorizer_set_irq_tag(old);
}

static DEFINE_IRQ_WORK(kick, kick_fn);

/* Have the pool, the limbo and the stream checked soon. Any context but NMI. */
void memorizer_kick(void)
{
	unsigned long flags;
	u64 old, old_irq;

	if (!READ_ONCE(ready) || READ_ONCE(kicked) || xchg(&kicked, 1))
		return;
	raw_local_irq_save(flags);
	old = memorizer_hide();
	old_irq = this_cpu_read(memorizer_cpu.irq_tag);
	memorizer_set_irq_tag(old_irq | MEMORIZER_HIDDEN);
	irq_work_queue(&kick);
	memorizer_set_irq_tag(old_irq);
	memorizer_show(old);
	raw_local_irq_restore(flags);
}

/*
 * The pool or the limbo needs the worker. At most once per jiffy: the interrupt
 * of a kick touches memory, too, and if the pool is used up, each such access
 * comes here again. If each of them caused a kick, the interrupt would trigger
 * itself for ever.
 */
void memorizer_kick_worker(void)
{
	unsigned long now = jiffies;

	if (time_before(now, READ_ONCE(next_work)))
		return;
	WRITE_ONCE(next_work, now + 1);
	memorizer_kick();
}

static int __init memorizer_ready(void)
{
	WRITE_ONCE(ready, true);
	/* ftrace is up, and so are all CPUs. */
	if (IS_ENABLED(CONFIG_MEMORIZER_CALLS) && calls_boot && memorizer_set_log_calls(true))
		pr_warn("cfg_log_boot: calls cannot be counted\n");
	return 0;
}
core_initcall(memorizer_ready);

/* All memory in one piece, less if there is not that much. */
static void * __init take_budget(unsigned long *bytes)
{
	unsigned long most = memblock_phys_mem_size() / 4 * 3;
	void *mem = NULL;

	if (!*bytes)
		*bytes = memblock_phys_mem_size() / 8;
	if (*bytes > most) { /* the rest must be able to boot */
		pr_warn("memorizer_mem=%lu is more than three quarters of the memory; it is %lu\n",
			*bytes, most);
		*bytes = most;
	}
	*bytes = PAGE_ALIGN(*bytes);
	while (*bytes >= MIN_BUDGET) {
		mem = memblock_alloc_raw(*bytes, PAGE_SIZE);
		if (mem)
			break;
		*bytes = PAGE_ALIGN(*bytes / 2);
	}
	return mem;
}

/*
 * Before the allocators are up: memory from memblock, so that the first slab
 * object is seen.
 */
void __init memorizer_init(void)
{
	unsigned long ram = PFN_PHYS(max_pfn), table, spans, bytes = budget;
	void *mem = take_budget(&bytes);

	table = PAGE_ALIGN((ram >> PAGE_SHIFT) * sizeof(struct memorizer_map *));
	spans = memorizer_globals_bytes();
	if (!mem || bytes < table + spans + MIN_BUDGET / 2) {
		pr_err("memorizer_mem=%lu is too little for %lu bytes of RAM: disabled; use at least %luM\n",
		       bytes, ram, (table + spans + MIN_BUDGET) >> 20);
		if (mem)
			memblock_free(mem, bytes);
		return;
	}
	memorizer_budget = bytes;
	memorizer_task_fork(current);
	memorizer_map_init(mem, ram);
	memorizer_map_own(__pa(mem), bytes);
	if (memorizer_pool_init(mem + table + spans, bytes - table - spans)) {
		pr_err("memorizer_mem=%lu is too little: disabled\n", bytes);
		memorizer_pages = NULL;
		return;
	}
	memorizer_globals_init(mem + table);
	pr_info("%lu KiB for objects and counters, %s\n", bytes >> 10,
		enabled_boot ? "enabled" : "disabled");
	log_access = log_boot;
	if (enabled_boot)
		memorizer_set_mode(1, NULL, 0);
}
