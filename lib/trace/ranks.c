// SPDX-License-Identifier: BSD-2-Clause
#include "trace/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mz_ranks_reset(struct mz_ranks *r, uint32_t cap)
{
	/* one more of each, for the scan that starts at the end */
	size_t n = (cap >> 6) + 2, n_small = (cap >> 9) + 2, n_mid = (cap >> 14) + 2;
	size_t n_large = (cap >> 19) + 2;

	if (cap > r->cap || !r->bits) {
		mz_ranks_deinit(r);
		r->bits = malloc(n * sizeof(*r->bits));
		r->small = malloc(n_small * sizeof(*r->small));
		r->mid = malloc(n_mid * sizeof(*r->mid));
		r->large = malloc(n_large * sizeof(*r->large));
		if (!r->bits || !r->small || !r->mid || !r->large) {
			mz_ranks_deinit(r);
			return -ENOMEM;
		}
		r->cap = cap;
	}
	memset(r->bits, 0, n * sizeof(*r->bits));
	memset(r->small, 0, n_small * sizeof(*r->small));
	memset(r->mid, 0, n_mid * sizeof(*r->mid));
	memset(r->large, 0, n_large * sizeof(*r->large));
	r->end = r->live = 0;
	return 0;
}

void mz_ranks_deinit(struct mz_ranks *r)
{
	free(r->bits);
	free(r->small);
	free(r->mid);
	free(r->large);
	*r = (struct mz_ranks){0};
}

void mz_ranks_fill(struct mz_ranks *r, uint32_t n)
{
	while (n--)
		mz_ranks_push(r);
}

uint32_t mz_ranks_above(const struct mz_ranks *r, uint32_t p)
{
	uint32_t n, i, last;

	if (p == MZ_RANKS_NONE)
		return r->live;
	if (p + 1 >= r->end)
		return 0;
	i = p >> 6;
	n = (p & 63) == 63 ? 0 : mz_popcount(r->bits[i] >> ((p & 63) + 1));
	last = (r->end - 1) >> 6;
	for (i++; i <= last && i & 7; i++)
		n += mz_popcount(r->bits[i]);
	if (i > last)
		return n;
	last = (r->end - 1) >> 9;
	for (i >>= 3; i <= last && i & 31; i++)
		n += r->small[i];
	if (i > last)
		return n;
	last = (r->end - 1) >> 14;
	for (i >>= 5; i <= last && i & 31; i++)
		n += r->mid[i];
	if (i > last)
		return n;
	last = (r->end - 1) >> 19;
	for (i >>= 5; i <= last; i++)
		n += r->large[i];
	return n;
}

uint32_t mz_ranks_slow(const struct mz_ranks *r, uint32_t rank)
{
	uint32_t i;

	if (rank >= r->live)
		return MZ_RANKS_NONE;
	for (i = (r->end - 1) >> 19; rank >= r->large[i]; i--)
		rank -= r->large[i];
	for (i = i * 32 + 31; i > (r->end - 1) >> 14 || rank >= r->mid[i]; i--)
		rank -= i > (r->end - 1) >> 14 ? 0 : r->mid[i];
	for (i = i * 32 + 31; i > (r->end - 1) >> 9 || rank >= r->small[i]; i--)
		rank -= i > (r->end - 1) >> 9 ? 0 : r->small[i];
	for (i = i * 8 + 7;; i--) {
		uint32_t n = i > (r->end - 1) >> 6 ? 0 : mz_popcount(r->bits[i]);

		if (rank < n)
			return (i << 6) + mz_nth_from_top(r->bits[i], rank);
		rank -= n;
	}
}

uint32_t mz_ranks_step(const struct mz_ranks *r, uint32_t from, int64_t step)
{
	uint32_t above, here;

	if (step == 1) {
		uint32_t near = mz_ranks_next(r, from);

		if (near != MZ_RANKS_NONE)
			return near;
	}
	if (from == MZ_RANKS_NONE && step <= 0)
		return MZ_RANKS_NONE;
	if (!step)
		return from < r->end && mz_ranks_is_live(r, from) ? from : MZ_RANKS_NONE;
	above = mz_ranks_above(r, from);
	if (step > 0)
		return step <= above ? mz_ranks_find(r, above - (uint32_t)step) : MZ_RANKS_NONE;
	here = mz_ranks_is_live(r, from);
	if (-(step + 1) >= (int64_t)r->live)
		return MZ_RANKS_NONE;
	return mz_ranks_find(r, above + here + (uint32_t)(-(step + 1)));
}

int64_t mz_ranks_steps(const struct mz_ranks *r, uint32_t from, uint32_t p, uint32_t above)
{
	if (from == p)
		return 0;
	if (from == MZ_RANKS_NONE)
		return (int64_t)r->live - above;
	if (p > from)
		return (int64_t)mz_ranks_above(r, from) - above;
	return (int64_t)mz_ranks_above(r, from) + mz_ranks_is_live(r, from) - above - 1;
}
