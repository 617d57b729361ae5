// SPDX-License-Identifier: GPL-2.0
/* A pool that is used up. */
#include <linux/slab.h>

#include "test_common.h"

/* All memory gone: objects are missed and counted, then tracked again. */
static void test_budget(struct kunit *test)
{
	void *piece, *list = NULL, *p;
	bool policy = memorizer_reclaim_policy;
	u64 before, after;
	unsigned long flags;
	int i;

	/* Dead records would make room, and nothing would be missed. */
	memorizer_reclaim_policy = false;
	while ((piece = memorizer_pool_alloc(98320))) {
		*(void **)piece = list;
		list = piece;
	}
	migrate_disable();
	before = this_cpu_read(memorizer_cpu.miss[OBJECT_MEMORY]);
	for (i = 0; i < 5000; i++) {
		p = kmalloc(32, GFP_KERNEL);
		if (p)
			memorizer_touch(p, 32);
		kfree(p);
	}
	after = this_cpu_read(memorizer_cpu.miss[OBJECT_MEMORY]);
	migrate_enable();
	KUNIT_EXPECT_GT(test, after, before);
	/* The pool has no lock of its own. */
	flags = memorizer_lock();
	while (list) {
		piece = list;
		list = *(void **)piece;
		memorizer_pool_free(piece);
	}
	memorizer_unlock(flags);
	memorizer_reclaim_policy = policy;
	p = kmalloc(32, GFP_KERNEL);
	memorizer_check(test, p, 32, MEMORIZER_KMALLOC);
	kfree(p);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE_SLOW(test_budget),
	{ }
};

MEMORIZER_TEST_SUITE(budget);
