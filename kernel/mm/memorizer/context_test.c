// SPDX-License-Identifier: GPL-2.0
/*
 * Who is counted, and when: marked tasks, interrupts, Memorizer itself, and the
 * preemption points of its hooks.
 */
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "test_common.h"

/* The next preemption point has something to do, as after an interrupt. */
static void want_resched(void)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
}

/* The end of a hook is a preemption point. */
static void test_hook_reschedules(struct kunit *test)
{
	void *p = kmalloc(96, GFP_KERNEL);

	if (!IS_ENABLED(CONFIG_PREEMPTION)) {
		kfree(p);
		kunit_skip(test, "the kernel does not preempt itself");
	}
	KUNIT_ASSERT_NOT_NULL(test, p);
	want_resched();
	__memorizer_resize(p, 96);
	KUNIT_EXPECT_FALSE(test, need_resched());
	kfree(p);
}

/* The end of an access is none, but leaves the request to the next one. */
static void test_access_keeps_resched(struct kunit *test)
{
	char *p = kmalloc(96, GFP_KERNEL);
	struct memorizer_object *obj = memorizer_check(test, p, 96, MEMORIZER_KMALLOC);
	struct memorizer_counts c = memorizer_touches(obj);
	bool kept;

	local_irq_disable();	/* no other code may obey it */
	want_resched();
	memorizer_touch(p, 96);
	kept = need_resched();
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, kept);
	KUNIT_EXPECT_EQ(test, memorizer_touches(obj).writes, c.writes + WRITES);
	preempt_disable();
	preempt_enable();
	if (IS_ENABLED(CONFIG_PREEMPTION))
		KUNIT_EXPECT_FALSE(test, need_resched());
	kfree(p);
}

/* Once only marked tasks are recorded, an unmarked one no longer counts. */
static void test_without_mark(struct kunit *test)
{
	char *p = kmalloc(96, GFP_KERNEL);
	struct memorizer_object *obj = memorizer_check(test, p, 96, MEMORIZER_KMALLOC);
	struct memorizer_counts c;

	/* Only marked tasks count from here on, and this one is not marked. */
	memorizer_set_mode(3, &init_task, 0);
	memorizer_touch(p, 96);
	memorizer_clear_at(p, 0, 96);
	memorizer_clear_at(p, 0, 1);
	/* From here on it is. */
	memorizer_task_mark(current, true);
	memorizer_touch(p, 96);
	memorizer_clear_at(p, 0, 96);
	memorizer_clear_at(p, 0, 1);
	memorizer_task_mark(current, false);
	memorizer_touch(p, 96);
	memorizer_clear_at(p, 0, 96);
	memorizer_clear_at(p, 0, 1);
	memorizer_set_mode(0, NULL, 0);
	/* Mode 0 does not remove marks; forgetting does. */
	KUNIT_EXPECT_TRUE(test, memorizer_task_is_marked(&init_task));
	memorizer_forget_marks();
	KUNIT_EXPECT_FALSE(test, memorizer_task_is_marked(&init_task));
	memorizer_touch(p, 96);
	memorizer_clear_at(p, 0, 96);
	memorizer_clear_at(p, 0, 1);
	/* In mode 1, unmarked tasks count again. */
	memorizer_set_mode(1, NULL, 0);
	memorizer_touch(p, 96);
	memorizer_clear_at(p, 0, 96);
	memorizer_clear_at(p, 0, 1);
	c = memorizer_touches(obj);
	KUNIT_EXPECT_EQ(test, c.writes, 3 * WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, 3 * READS);
	c = memorizer_counts_of(obj, memorizer_clear_at, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 2 * 2);
	kfree(p);
}

static void in_interrupt_fn(struct irq_work *work);
static DEFINE_IRQ_WORK(test_irq_work, in_interrupt_fn);
/* The handler has no argument that could carry it. */
static char *irq_target;

/* Accesses of an interrupt belong to process 0, whatever it interrupted. */
static void in_interrupt_fn(struct irq_work *work)
{
	memorizer_touch(irq_target, 64);
}

/* An interrupt in the middle of Memorizer's own work counts, its work does not. */
static void test_interrupt_while_hidden(struct kunit *test)
{
	struct memorizer_object *obj;
	struct memorizer_counts c;
	u64 old;

	irq_target = kmalloc(64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, irq_target);
	old = memorizer_hide();
	memorizer_touch(irq_target, 64);
	irq_work_queue(&test_irq_work);
	irq_work_sync(&test_irq_work);
	memorizer_show(old);
	obj = memorizer_find((unsigned long)irq_target);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	c = memorizer_counts_of(obj, memorizer_touch, 0);
	KUNIT_EXPECT_EQ(test, c.writes, WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, READS);
	c = memorizer_touches(obj);
	KUNIT_EXPECT_EQ(test, c.writes + c.reads, 0);
	kfree(irq_target);
}

/* What is kept for this CPU, while nothing else can run on it. */
static u64 tag_now(void)
{
	unsigned long flags;
	u64 tag;

	local_irq_save(flags);
	tag = raw_cpu_read(memorizer_cpu.tags[0]);
	local_irq_restore(flags);
	return tag;
}

static u64 irq_tag_seen, softirq_tag_seen;

static void note_softirq_tag(struct tasklet_struct *unused)
{
	softirq_tag_seen = tag_now();
}
static DECLARE_TASKLET(note_softirq, note_softirq_tag);

static void note_irq_tag(struct irq_work *work)
{
	irq_tag_seen = tag_now();
	tasklet_schedule(&note_softirq);
}
static DEFINE_IRQ_WORK(note_irq, note_irq_tag);

/* The tag of a CPU is that of its task, of an interrupt, and of the task again. */
static void test_tag_follows(struct kunit *test)
{
	u64 mine = current->memorizer.tag, old;

	irq_tag_seen = softirq_tag_seen = 0;
	KUNIT_EXPECT_EQ(test, tag_now(), mine);
	irq_work_queue(&note_irq);
	irq_work_sync(&note_irq);
	while (!READ_ONCE(softirq_tag_seen))
		cond_resched();
	KUNIT_EXPECT_EQ(test, irq_tag_seen, memorizer_tag(0));
	KUNIT_EXPECT_EQ(test, softirq_tag_seen, memorizer_tag(0));
	KUNIT_EXPECT_EQ(test, tag_now(), mine);
	/* Disabled bottom halves do not mean that one is running. */
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, tag_now(), mine);
	local_bh_enable();
	old = memorizer_hide();
	KUNIT_EXPECT_EQ(test, tag_now(), mine | MEMORIZER_HIDDEN);
	KUNIT_EXPECT_EQ(test, raw_cpu_read(memorizer_cpu.end), 0);
	memorizer_show(old);
	KUNIT_EXPECT_EQ(test, tag_now(), mine);
}

/* An interrupt of the counting code disables preemption, any other does not. */
static void test_interrupt_holds(struct kunit *test)
{
	struct pt_regs regs = { .ip = (unsigned long)__memorizer_entries + 5 };
	int before = preempt_count(), inside;

	memorizer_interrupt(&regs);
	inside = preempt_count();
	memorizer_interrupt_end(&regs);
	KUNIT_EXPECT_EQ(test, inside, before + 1);
	KUNIT_EXPECT_EQ(test, preempt_count(), before);
	regs.ip = (unsigned long)__memorizer_entries_end;
	memorizer_interrupt(&regs);
	inside = preempt_count();
	memorizer_interrupt_end(&regs);
	KUNIT_EXPECT_EQ(test, inside, before);
}

static struct kunit_case context_cases[] = {
	KUNIT_CASE(test_hook_reschedules),
	KUNIT_CASE(test_access_keeps_resched),
	KUNIT_CASE(test_without_mark),
	KUNIT_CASE(test_interrupt_while_hidden),
	KUNIT_CASE(test_tag_follows),
	KUNIT_CASE(test_interrupt_holds),
	{ }
};

MEMORIZER_TEST_SUITE(context);
