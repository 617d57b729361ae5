// SPDX-License-Identifier: GPL-2.0
/*
 * A module that knows its calls: one function is called from others, directly
 * 29 times, through a pointer 23 times, 17 times on the last CPU from a thread
 * and 11 times there from an interrupt. tests/vm/calls.py looks for the same in
 * function_calls.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/smp.h>

static int sum;

noinline void mz_calls_target(int n);
noinline void mz_calls_target(int n)
{
	WRITE_ONCE(sum, sum + n);
}

/* Where the compiler cannot know it. */
static void (*volatile pointer)(int n) = mz_calls_target;

noinline void mz_calls_direct(void);
noinline void mz_calls_direct(void)
{
	int i;

	for (i = 0; i < 29; i++)
		mz_calls_target(i);
}

noinline void mz_calls_pointer(void);
noinline void mz_calls_pointer(void)
{
	int i;

	for (i = 0; i < 23; i++)
		pointer(i);
}

noinline void mz_calls_interrupt(void *unused);
noinline void mz_calls_interrupt(void *unused)
{
	int i;

	for (i = 0; i < 11; i++)
		mz_calls_target(i);
}

noinline int mz_calls_thread(void *done);
noinline int mz_calls_thread(void *done)
{
	int i;

	for (i = 0; i < 17; i++)
		pointer(i);
	complete(done);
	return 0;
}

static int __init mz_calls_init(void)
{
	unsigned int other;
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *thread;

	mz_calls_direct();
	mz_calls_pointer();
	/* On this CPU it would be called, without an interrupt. */
	other = cpumask_any_but(cpu_online_mask, get_cpu());
	smp_call_function_single(other, mz_calls_interrupt, NULL, true);
	put_cpu();
	thread = kthread_create(mz_calls_thread, &done, "mz_calls");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, other);
	pr_info("mz_calls: thread %d\n", thread->pid);
	wake_up_process(thread);
	wait_for_completion(&done);
	return 0;
}

static void __exit mz_calls_exit(void)
{
}

module_init(mz_calls_init);
module_exit(mz_calls_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Calls with known counts, for the tests of Memorizer");
