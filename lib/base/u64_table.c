// SPDX-License-Identifier: BSD-2-Clause
/* Grow, sweep and reseed a hash table of records by number. */
#include "base/u64_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS 10
#define HUGE_PAGE  ((size_t)2 << 20)

/* Empty slots. They are looked up in no order: large pages need fewer translations. */
static void *new_slots(size_t n, size_t size)
{
	size_t bytes = n * size;
	void *p;

	if (bytes < 4 * HUGE_PAGE)
		return calloc(n, size);
	bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	p = aligned_alloc(HUGE_PAGE, bytes);
	if (!p)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	return memset(p, 0, bytes);
}

static int set_size(struct mz_u64_table *t, unsigned bits, size_t size)
{
	void *slots = new_slots((size_t)1 << bits, size);

	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	t->mask = ((size_t)1 << bits) - 1;
	t->shift = 64 - bits;
	return 0;
}

int mz_u64_table_init(struct mz_u64_table *t, size_t size)
{
	*t = (struct mz_u64_table){.multiplier = MZ_HASH_GOLDEN};
	return set_size(t, FIRST_BITS, size);
}

void mz_u64_table_deinit(struct mz_u64_table *t)
{
	free(t->slots);
	*t = (struct mz_u64_table){0};
}

void mz_u64_table_clear(struct mz_u64_table *t, size_t size)
{
	if (t->used)
		memset(t->slots, 0, (t->mask + 1) * size);
	t->used = 0;
}

static bool keep_all(const void *record, const void *arg)
{
	(void)record;
	(void)arg;
	return true;
}

/* All records that are kept into new slots. */
static int rebuild(struct mz_u64_table *t, unsigned bits, uint64_t multiplier, size_t size,
		   bool (*keep)(const void *record, const void *arg), const void *arg)
{
	struct mz_u64_table to = {.multiplier = multiplier};

	if (set_size(&to, bits, size) < 0)
		return -ENOMEM;
	for (size_t i = 0; i <= t->mask; i++) {
		const void *record = mz_u64_table_slot(t, i, size);
		uint64_t key = mz_u64_table_key(t, i, size);
		size_t at;

		if (!key || !keep(record, arg))
			continue;
		for (at = mz_u64_table_home(&to, key); mz_u64_table_key(&to, at, size);)
			at = (at + 1) & to.mask;
		memcpy(mz_u64_table_slot(&to, at, size), record, size);
		to.used++;
	}
	free(t->slots);
	*t = to;
	return 0;
}

int mz_u64_table_more(struct mz_u64_table *t, size_t size, size_t passed)
{
	uint64_t multiplier;

	if (mz_u64_table_full(t))
		return rebuild(t, 64 - t->shift + 1, t->multiplier, size, keep_all, NULL);
	/* by chance chains of this length are rare, and a rebuild costs less than what
	 * was spent on them */
	t->excess += passed;
	if (t->excess < 4096 + t->used)
		return 0;
	mz_hash_random(&multiplier, 1);
	if (rebuild(t, 64 - t->shift, multiplier | 1, size, keep_all, NULL) < 0)
		t->excess = 0; /* slow is better than failed */
	return 0;
}

int mz_u64_table_sweep(struct mz_u64_table *t, size_t size,
		       bool (*keep)(const void *record, const void *arg), const void *arg)
{
	unsigned bits = 64 - t->shift;
	size_t kept = 0;

	for (size_t i = 0; i <= t->mask; i++)
		if (mz_u64_table_key(t, i, size))
			kept += keep(mz_u64_table_slot(t, i, size), arg);
	if (kept > t->mask / 3)
		bits++;
	return rebuild(t, bits, t->multiplier, size, keep, arg);
}
