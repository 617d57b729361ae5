// SPDX-License-Identifier: BSD-2-Clause
/* Compare ranks and steps with a linear search. */
#include <stdlib.h>

#include "tests/unit/test.h"
#include "trace/live_rank.h"

static uint64_t seed = 7;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

static uint32_t slow_find(const char *live, uint32_t end, uint32_t rank)
{
	while (end-- > 0)
		if (live[end] && !rank--)
			return end;
	return MZ_LIVE_RANK_NONE;
}

static int64_t slow_steps(const char *live, uint32_t from, uint32_t p)
{
	int64_t n = 0;

	if (from == MZ_LIVE_RANK_NONE || p > from)
		for (uint32_t i = from + 1; i <= p; i++)
			n += live[i];
	else
		for (uint32_t i = p; i < from; i++)
			n -= live[i];
	return n;
}

static void one(struct mz_live_rank *r, char *live, uint32_t rank)
{
	uint32_t p = slow_find(live, r->end, rank), cursor = r->cursor;
	int64_t step;

	CHECK_EQ(mz_live_rank_find(r, rank), p);
	CHECK_EQ(mz_live_rank_slow(r, rank), p);
	CHECK_EQ(mz_live_rank_above(r, p), rank);
	step = mz_live_rank_steps(r, p, rank);
	CHECK_EQ(step, slow_steps(live, cursor, p));
	CHECK_EQ(mz_live_rank_step(r, step), p);
	CHECK_EQ(r->cursor, p);
	CHECK_EQ(r->above, rank);
}

/* The block at a step ends in one go; afterwards everything is as after a kill. */
static void take(struct mz_live_rank *r, char *live, uint32_t rank)
{
	uint32_t p = slow_find(live, r->end, rank), all = r->live;
	int64_t step = mz_live_rank_steps(r, p, rank);

	CHECK_EQ(mz_live_rank_take_step(r, step), p);
	live[p] = 0;
	CHECK_EQ(r->cursor, p);
	CHECK_EQ(r->above, rank);
	CHECK_EQ(r->live, all - 1);
	CHECK_EQ(mz_live_rank_is_live(r, p), 0);
	CHECK_EQ(mz_live_rank_above(r, p), rank);
	CHECK_EQ(mz_live_rank_take_step(r, 0), MZ_LIVE_RANK_NONE);
}

static void churn(uint32_t cap, uint32_t guests, uint32_t deaths)
{
	struct mz_live_rank r = {0};
	char *live = calloc(cap + 1, 1);

	CHECK(!mz_live_rank_reset(&r, cap));
	mz_live_rank_fill(&r, guests);
	for (uint32_t i = 0; i < guests; i++)
		live[i] = 1;
	for (int i = 0; i < 3000; i++) {
		if (rnd(100) < deaths && r.live) {
			uint32_t rank = rnd(3) ? rnd(r.live < 9 ? r.live : 9) : rnd(r.live);

			if (!rnd(3)) {
				take(&r, live, rank);
				continue;
			}
			one(&r, live, rank);
			if (rnd(5)) {
				live[r.cursor] = 0;
				mz_live_rank_kill(&r, r.cursor);
			}
		} else if (r.end < cap) {
			live[mz_live_rank_push(&r)] = 1;
		}
	}
	CHECK_EQ(mz_live_rank_find(&r, r.live), MZ_LIVE_RANK_NONE);
	CHECK_EQ(mz_live_rank_step(&r, (int64_t)r.live + 1), MZ_LIVE_RANK_NONE);
	CHECK_EQ(mz_live_rank_step(&r, INT64_MIN), MZ_LIVE_RANK_NONE);
	CHECK_EQ(mz_live_rank_step(&r, INT64_MAX), MZ_LIVE_RANK_NONE);
	CHECK_EQ(mz_live_rank_take(&r, r.live), MZ_LIVE_RANK_NONE);
	CHECK_EQ(mz_live_rank_take_step(&r, INT64_MIN), MZ_LIVE_RANK_NONE);
	CHECK_EQ(mz_live_rank_take_step(&r, INT64_MAX), MZ_LIVE_RANK_NONE);
	free(live);
	mz_live_rank_deinit(&r);
}

static void small(void)
{
	for (int i = 0; i < 20; i++)
		churn(1 + rnd(3000), 0, 20 + rnd(70));
	churn(100, 100, 90);
}

static void large(void)
{
	churn(600000, 590000, 60);
	churn(300000, 299000, 95);
}

int main(void)
{
	RUN(small);
	RUN(large);
	return test_end();
}
