/* SPDX-License-Identifier: BSD-2-Clause */
/* How many of the blocks that ended had the same age and size. */
#ifndef MZ_ANALYSIS_LIFETIME_PAIRS_H
#define MZ_ANALYSIS_LIFETIME_PAIRS_H

#include <errno.h>

#include "base/array.h"
#include "base/pair_index.h"

/* Begins as zeros. */
struct mz_lifetime_pairs {
	struct mz_pair_index index; /* age, size */
	uint64_t *count;	    /* by number: how often the pair occurred */
	size_t cap;
	uint32_t *order; /* numbers, sorted by age and size */
};

void mz_lifetime_pairs_deinit(struct mz_lifetime_pairs *t);

/* 0 or -ENOMEM. */
static inline int mz_lifetime_pairs_add(struct mz_lifetime_pairs *t, uint64_t age, uint64_t size)
{
	uint32_t at = mz_pair_index_put(&t->index, age, size);

	if (at == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&t->count, &t->cap, at, sizeof(*t->count)))
		return -ENOMEM;
	t->count[at]++;
	return 0;
}

/* After the last one: makes the order. 0 or -ENOMEM. */
int mz_lifetime_pairs_sort(struct mz_lifetime_pairs *t);

#endif
