// SPDX-License-Identifier: BSD-2-Clause
/* Merging streams by key, against a search over all of them. */
#include "base/merge.h"

#include <stdbool.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define STREAMS 40
#define ITEMS	50

static uint64_t state;
static uint64_t items[STREAMS][ITEMS];
static uint32_t length[STREAMS], at[STREAMS], rank[STREAMS];

static void make_streams(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = random_below(&state, 20);

		length[i] = (uint32_t)random_below(&state, ITEMS + 1);
		at[i] = 0;
		rank[i] = n - i; /* not the order in which they are added */
		for (uint32_t k = 0; k < length[i]; k++)
			items[i][k] = key += random_below(&state, 4);
	}
}

/* The stream with the least key, of those the lowest rank; n: all have ended. */
static uint32_t least(uint32_t n, uint32_t but)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++) {
		if (i == but || at[i] == length[i])
			continue;
		if (best == n || items[i][at[i]] < items[best][at[best]] ||
		    (items[i][at[i]] == items[best][at[best]] && rank[i] < rank[best]))
			best = i;
	}
	return best;
}

static void as_model(void)
{
	for (int turn = 0; turn < 300; turn++) {
		uint32_t n = (uint32_t)random_below(&state, STREAMS + 1), first;
		struct mz_merge m;

		make_streams(n);
		CHECK_EQ(mz_merge_init(&m, n), 0);
		for (uint32_t i = 0; i < n; i++)
			if (length[i])
				mz_merge_add(&m, i, rank[i], items[i][0]);
		while ((first = least(n, n)) < n && m.n) {
			uint32_t second = least(n, first);

			CHECK_EQ(m.heap[0].number, first);
			CHECK_EQ(m.heap[0].key, items[first][at[first]]);
			CHECK(mz_merge_second(&m) ==
			      (second < n ? items[second][at[second]] : UINT64_MAX));
			if (++at[first] == length[first])
				mz_merge_drop(&m);
			else
				mz_merge_set(&m, items[first][at[first]]);
		}
		CHECK(first == n && !m.n);
		mz_merge_deinit(&m);
	}
}

int main(void)
{
	RUN(as_model);
	return test_end();
}
