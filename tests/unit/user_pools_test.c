// SPDX-License-Identifier: BSD-2-Clause
/* The recorder's lists of pool blocks, against arrays that are searched. */
#include "record/user_pools.h"

#include <stdint.h>

#include "random.h"
#include "test.h"

#define POOLS  8u
#define BLOCKS 512u

static void resets_end_what_is_live(void)
{
	struct mz_user_pools *p = mz_user_pools_new();
	unsigned owner[BLOCKS] = {0}; /* of each address: 0 = free */
	uint64_t seed = 7;

	for (unsigned i = 1; i <= POOLS; i++)
		CHECK_EQ(mz_user_pools_add(p, i, 100 + i), 0);
	for (unsigned step = 0; step < 200000; step++) {
		unsigned a = (unsigned)random_below(&seed, BLOCKS);
		unsigned pool = 1 + (unsigned)random_below(&seed, POOLS), ended = 0, live = 0;
		uint64_t addr;

		if (random_below(&seed, 100)) {
			if (owner[a] && random_below(&seed, 2)) {
				mz_user_pools_went(p, owner[a], 4096 + a);
				owner[a] = 0;
			} else { /* perhaps over a live one */
				CHECK_EQ(mz_user_pools_came(p, pool, 4096 + a), 0);
				owner[a] = pool;
			}
			continue;
		}
		for (unsigned i = 0; i < BLOCKS; i++)
			live += owner[i] == pool;
		while ((addr = mz_user_pools_take(p, pool))) {
			CHECK_EQ(owner[addr - 4096], pool);
			owner[addr - 4096] = 0;
			ended++;
		}
		CHECK_EQ(ended, live);
		CHECK_EQ(mz_user_pools_end(p, pool, false), 0);
	}
	mz_user_pools_free(p);
}

static void what_is_hostile(void)
{
	struct mz_user_pools *p = mz_user_pools_new();
	const uint64_t more = (1u << 20) + 5;

	CHECK_EQ(mz_user_pools_add(p, 0, 1), 0); /* no number */
	CHECK_EQ(mz_user_pools_name(p, 0), 0);
	CHECK_EQ(mz_user_pools_name(p, UINT64_MAX), 0);
	CHECK_EQ(mz_user_pools_came(p, 5, 1), 0); /* a pool that was never created */
	CHECK_EQ(mz_user_pools_take(p, 5), 0);
	CHECK_EQ(mz_user_pools_end(p, 5, true), 1);
	/* more blocks than are kept: the rest is counted, and told at the reset */
	CHECK_EQ(mz_user_pools_add(p, UINT64_MAX, 9), 0);
	for (uint64_t i = 1; i <= more; i++)
		CHECK_EQ(mz_user_pools_came(p, UINT64_MAX, i), 0);
	mz_user_pools_went(p, UINT64_MAX, more);
	for (uint64_t i = 0; i < 1u << 20; i++)
		CHECK(mz_user_pools_take(p, UINT64_MAX));
	CHECK_EQ(mz_user_pools_take(p, UINT64_MAX), 0);
	CHECK_EQ(mz_user_pools_end(p, UINT64_MAX, true), 4);
	CHECK_EQ(mz_user_pools_name(p, UINT64_MAX), 0); /* destroyed */
	mz_user_pools_free(p);
}

int main(void)
{
	RUN(resets_end_what_is_live);
	RUN(what_is_hostile);
	return test_end();
}
