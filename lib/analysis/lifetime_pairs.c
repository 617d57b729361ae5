// SPDX-License-Identifier: BSD-2-Clause
/* Sort the pairs of age and size of the blocks that ended. */
#include "analysis/lifetime_pairs.h"

#include <stdlib.h>

static int by_age_and_size(const void *a, const void *b, void *keys)
{
	const struct mz_key *x = (struct mz_key *)keys + *(const uint32_t *)a;
	const struct mz_key *y = (struct mz_key *)keys + *(const uint32_t *)b;

	return MZ_ORDER(x->a, y->a) ?: MZ_ORDER(x->b, y->b);
}

int mz_lifetime_pairs_sort(struct mz_lifetime_pairs *t)
{
	uint32_t n = (uint32_t)t->index.count;

	t->order = malloc((n + 1) * sizeof(*t->order));
	if (!t->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		t->order[i] = i;
	qsort_r(t->order, n, sizeof(*t->order), by_age_and_size, t->index.keys);
	return 0;
}

void mz_lifetime_pairs_deinit(struct mz_lifetime_pairs *t)
{
	mz_pair_index_deinit(&t->index);
	free(t->count);
	free(t->order);
}
