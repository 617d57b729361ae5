// SPDX-License-Identifier: GPL-2.0
/* Ten million accesses from two CPUs and their interrupts, none lost or counted twice. */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "test_common.h"

#define POOL_OBJECTS	512
#define ROUNDS		10
#define STEPS		500000		/* in each round, for each of two CPUs */
#define IRQ_PERIOD	(NSEC_PER_MSEC / 2)

static void *pool_objects[POOL_OBJECTS];

/*
 * A thread bound to a CPU, and a timer that interrupts it there. Each keeps its
 * own counts of what it did, without Memorizer's help.
 */
struct walker {
	int cpu;
	struct task_struct *task;
	struct hrtimer timer;
	struct rnd_state rnd, irq_rnd;
	u32 (*mine)[2];			/* reads, writes of each object */
	u32 (*irq)[2];
	u32 churned, churn_bad;
	struct completion done;
};

static struct walker walkers[2];

/*
 * Four functions, so that sites tell reads from writes and the thread from the
 * interrupt.
 */
static noinline void random_read(volatile char *p)
{
	(void)*p;
}

static noinline void random_write(volatile char *p)
{
	*p = 1;
}

static noinline void irq_read(volatile char *p)
{
	(void)*p;
}

static noinline void irq_write(volatile char *p)
{
	*p = 1;
}

/*
 * In hard interrupt context, at any instruction of the thread, inside of
 * Memorizer's own code too.
 */
static enum hrtimer_restart random_irq(struct hrtimer *timer)
{
	struct walker *w = container_of(timer, struct walker, timer);
	u32 r = prandom_u32_state(&w->irq_rnd), i = r % POOL_OBJECTS;

	if (r >> 31) {
		irq_write(pool_objects[i]);
		w->irq[i][1]++;
	} else {
		irq_read(pool_objects[i]);
		w->irq[i][0]++;
	}
	hrtimer_forward_now(timer, ns_to_ktime(IRQ_PERIOD));
	return HRTIMER_RESTART;
}

/* Allocate, memorizer_touch, look and free, beside everything else. */
static void churn(struct walker *w, u32 r)
{
	void *p = kmalloc(r % 2000 + 1, GFP_KERNEL);
	struct memorizer_counts c;

	if (!p)
		return;
	memorizer_touch(p, r % 2000 + 1);
	c = memorizer_touches(memorizer_find((unsigned long)p));
	w->churned++;
	w->churn_bad += c.writes != WRITES || c.reads != READS;
	kfree(p);
}

/*
 * The two threads share all objects, so that their sites meet in the same
 * tables.
 */
static int random_walk(void *data)
{
	struct walker *w = data;
	u32 i, n, r;

	hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	w->timer.function = random_irq;
	hrtimer_start(&w->timer, ns_to_ktime(IRQ_PERIOD), HRTIMER_MODE_REL_PINNED_HARD);
	for (n = 0; n < STEPS; n++) {
		r = prandom_u32_state(&w->rnd);
		i = r % POOL_OBJECTS;
		if (r >> 31) {
			random_write(pool_objects[i]);
			w->mine[i][1]++;
		} else {
			random_read(pool_objects[i]);
			w->mine[i][0]++;
		}
		if (n % 8192 == 0) {
			churn(w, r >> 8);
			cond_resched();
		}
	}
	hrtimer_cancel(&w->timer);
	complete(&w->done);
	/* Keep the pid until the counts have been compared. */
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* 1 if a count differs, and the log says which. */
static u32 differs(struct kunit *test, int i, const char *what, u64 counted, u64 made)
{
	if (counted == made)
		return 0;
	kunit_err(test, "object %d: %llu %s counted, %llu made", i, counted, what, made);
	return 1;
}

/* How many of the six counts of an object differ. */
static u32 compare(struct kunit *test, int i)
{
	struct memorizer_object *obj = memorizer_find((unsigned long)pool_objects[i]);
	u64 irq_reads = 0, irq_writes = 0;
	u32 bad = 0;
	int k;

	for (k = 0; k < 2; k++) {
		pid_t pid = walkers[k].task->pid;

		bad += differs(test, i, "reads", memorizer_counts_of(obj, random_read, pid).reads,
			       walkers[k].mine[i][0]);
		bad += differs(test, i, "writes", memorizer_counts_of(obj, random_write, pid).writes,
			       walkers[k].mine[i][1]);
		irq_reads += walkers[k].irq[i][0];
		irq_writes += walkers[k].irq[i][1];
	}
	bad += differs(test, i, "reads in interrupts",
		       memorizer_counts_of(obj, irq_read, 0).reads, irq_reads);
	bad += differs(test, i, "writes in interrupts",
		       memorizer_counts_of(obj, irq_write, 0).writes, irq_writes);
	return bad;
}

/* KUnit allows five minutes for each. On a busy host, all rounds may take longer. */
static const void *next_round(const void *round, char *desc)
{
	unsigned long n = (unsigned long)round + 1;

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "round %lu", n);
	return n <= ROUNDS ? (void *)n : NULL;
}

/*
 * Not one access may be lost or counted twice, with two CPUs and interrupts at
 * work on the same objects.
 */
static void test_ten_million(struct kunit *test)
{
	int seed = 23 + 4 * (unsigned long)test->param_value;
	u64 total = 0, irqs = 0;
	u32 bad = 0;
	int i, k;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (i = 0; i < POOL_OBJECTS; i++) {
		pool_objects[i] = kmalloc(1 << (i % 13), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, pool_objects[i]);
	}
	for (k = 0; k < 2; k++) {
		struct walker *w = &walkers[k];

		memset(w, 0, sizeof(*w));
		w->mine = vzalloc(POOL_OBJECTS * sizeof(*w->mine));
		w->irq = vzalloc(POOL_OBJECTS * sizeof(*w->irq));
		KUNIT_ASSERT_NOT_NULL(test, w->mine);
		KUNIT_ASSERT_NOT_NULL(test, w->irq);
		prandom_seed_state(&w->rnd, seed + k);
		prandom_seed_state(&w->irq_rnd, seed + 2 + k);
		init_completion(&w->done);
		w->task = kthread_create(random_walk, w, "memorizer/%d", k);
		KUNIT_ASSERT_FALSE(test, IS_ERR(w->task));
		kthread_bind(w->task, k);
	}
	for (k = 0; k < 2; k++)
		wake_up_process(walkers[k].task);
	for (k = 0; k < 2; k++)
		wait_for_completion(&walkers[k].done);
	for (i = 0; i < POOL_OBJECTS; i++) {
		bad += compare(test, i);
		for (k = 0; k < 2; k++) {
			total += walkers[k].mine[i][0] + walkers[k].mine[i][1];
			irqs += walkers[k].irq[i][0] + walkers[k].irq[i][1];
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, total, 2 * STEPS);
	KUNIT_EXPECT_GT(test, irqs, 100);
	for (k = 0; k < 2; k++) {
		KUNIT_EXPECT_GT(test, walkers[k].churned, STEPS / 10000);
		KUNIT_EXPECT_EQ(test, walkers[k].churn_bad, 0);
		kthread_stop(walkers[k].task);
		vfree(walkers[k].mine);
		vfree(walkers[k].irq);
	}
	kunit_info(test, "%llu accesses, %llu in interrupts", total, irqs);
	for (i = 0; i < POOL_OBJECTS; i++)
		kfree(pool_objects[i]);
}

static struct kunit_case concurrency_cases[] = {
	KUNIT_CASE_PARAM(test_ten_million, next_round),
	{ }
};

MEMORIZER_TEST_SUITE(concurrency);
