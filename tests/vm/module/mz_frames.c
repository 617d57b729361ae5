// SPDX-License-Identifier: GPL-2.0
/*
 * A module that knows the accesses to its local variables. Each access is made by
 * mz_frames_touch(), or by a function in the same way: 23 writes and 29 reads of
 * an array. How often that happens to the array of which function, and from
 * where, is the table in tests/vm/frames.py.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/smp.h>

#define BYTES	48
#define WRITES	23
#define READS	29

#define touch(p)						\
do {								\
	int _i;							\
								\
	for (_i = 0; _i < WRITES; _i++)				\
		(p)[(BYTES - 1) * _i / (WRITES - 1)] = _i;	\
	for (_i = 0; _i < READS; _i++)				\
		(void)(p)[(BYTES - 1) * _i / (READS - 1)];	\
} while (0)

noinline void mz_frames_touch(volatile char *p);
noinline void mz_frames_touch(volatile char *p)
{
	touch(p);
}

/* Its own array, and nobody else's. */
noinline void mz_frames_own(void);
noinline void mz_frames_own(void)
{
	char array[BYTES];
	volatile char *p = array;

	OPTIMIZER_HIDE_VAR(p);
	touch(p);
}

/* Touched by a function that it calls: once. */
noinline void mz_frames_lend(void);
noinline void mz_frames_lend(void)
{
	char array[BYTES];

	mz_frames_touch(array);
}

/* Its own array once, that of its caller once. */
noinline void mz_frames_pass(char *p);
noinline void mz_frames_pass(char *p)
{
	char array[BYTES];

	mz_frames_touch(p);
	mz_frames_touch(array);
}

/* Before, in between by a function two calls down, and after: three times. */
noinline void mz_frames_nest(void);
noinline void mz_frames_nest(void)
{
	char array[BYTES];

	mz_frames_touch(array);
	mz_frames_pass(array);
	mz_frames_lend();
	mz_frames_touch(array);
}

/* Two times for each call, and one for each that is called by itself. */
noinline void mz_frames_recurse(char *above, int depth);
noinline void mz_frames_recurse(char *above, int depth)
{
	char array[BYTES];

	mz_frames_touch(array);
	if (above)
		mz_frames_touch(above);
	if (depth > 1)
		mz_frames_recurse(array, depth - 1);
	mz_frames_touch(array);
}

/* A frame of a size that is not known before it runs, which is found by %rbp. */
noinline void mz_frames_any_size(int size);
noinline void mz_frames_any_size(int size)
{
	char *array = __builtin_alloca(size);

	mz_frames_touch(array);
}

/* More than six arguments: the last are on the stack of the caller. */
noinline int mz_frames_arguments(int a, int b, int c, int d, int e, int f, char *p, int g);
noinline int mz_frames_arguments(int a, int b, int c, int d, int e, int f, char *p, int g)
{
	char array[BYTES];

	mz_frames_touch(p);
	mz_frames_touch(array);
	return a + b + c + d + e + f + g;
}

noinline int mz_frames_call(void);
noinline int mz_frames_call(void)
{
	char array[BYTES];
	int sum;

	mz_frames_touch(array);
	sum = mz_frames_arguments(1, 2, 3, 4, 5, 6, array, 7);
	mz_frames_touch(array);
	return sum;
}

/* On another CPU, in an interrupt. */
noinline void mz_frames_interrupt(void *unused);
noinline void mz_frames_interrupt(void *unused)
{
	char array[BYTES];

	mz_frames_touch(array);
	mz_frames_recurse(NULL, 3);
}

static char *lent;
static bool touched;

/* In an interrupt: its own array, and that of the function that was interrupted. */
noinline void mz_frames_irq_work(struct irq_work *work);
noinline void mz_frames_irq_work(struct irq_work *work)
{
	char array[BYTES];

	mz_frames_touch(array);
	mz_frames_touch(lent);
	smp_store_release(&touched, true);
}

static DEFINE_IRQ_WORK(irq_work, mz_frames_irq_work);

/* Interrupted on its own CPU, wherever it is just then. */
noinline void mz_frames_wait(void);
noinline void mz_frames_wait(void)
{
	char array[BYTES];

	mz_frames_touch(array);
	lent = array;
	touched = false;
	preempt_disable();
	irq_work_queue(&irq_work);
	while (!smp_load_acquire(&touched))
		cpu_relax();
	preempt_enable();
	mz_frames_touch(array);
}

/* Another process: the same functions, and the stack of the first one. */
noinline int mz_frames_thread(void *done);
noinline int mz_frames_thread(void *done)
{
	mz_frames_recurse(NULL, 2);
	mz_frames_lend();
	mz_frames_touch(lent);
	complete(done);
	return 0;
}

noinline int mz_frames_sleep(unsigned int cpu);
noinline int mz_frames_sleep(unsigned int cpu)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *thread;
	char array[BYTES];

	lent = array;
	thread = kthread_create(mz_frames_thread, &done, "mz_frames");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, cpu);
	pr_info("mz_frames: thread %d\n", thread->pid);
	wake_up_process(thread);
	wait_for_completion(&done);
	mz_frames_touch(array);
	return 0;
}

static int __init mz_frames_init(void)
{
	unsigned int other;

	mz_frames_own();
	mz_frames_lend();
	mz_frames_nest();
	mz_frames_recurse(NULL, 5);
	mz_frames_any_size(BYTES);
	mz_frames_call();
	/* On this CPU it would be called, without an interrupt. */
	other = cpumask_any_but(cpu_online_mask, get_cpu());
	smp_call_function_single(other, mz_frames_interrupt, NULL, true);
	put_cpu();
	mz_frames_wait();
	return mz_frames_sleep(other);
}

static void __exit mz_frames_exit(void)
{
}

module_init(mz_frames_init);
module_exit(mz_frames_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Accesses to local variables with known counts, for the tests of Memorizer");
