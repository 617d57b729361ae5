// SPDX-License-Identifier: BSD-2-Clause
#include "trace/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

const mz_ranks_node mz_ranks_before[8] = {
	{0},		{1},		 {1, 1},	     {1, 1, 1},
	{1, 1, 1, 1},	{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1},
};

/* How many nodes of a level there are for so many positions. */
static size_t nodes_of(uint32_t cap, int level)
{
	return (cap >> (9 + 3 * level)) + 2;
}

static int make_room(struct mz_ranks *r, uint32_t cap)
{
	bool failed = false;

	mz_ranks_deinit(r);
	r->bits = malloc(((cap >> 6) + 2) * sizeof(*r->bits));
	r->large = malloc(((cap >> 15) + 2) * sizeof(*r->large));
	for (int i = 0; i < MZ_RANKS_LEVELS; i++) {
		r->nodes[i] = malloc(nodes_of(cap, i) * sizeof(*r->nodes[i]));
		failed |= !r->nodes[i];
	}
	if (failed || !r->bits || !r->large) {
		mz_ranks_deinit(r);
		return -ENOMEM;
	}
	r->cap = cap;
	return 0;
}

int mz_ranks_reset(struct mz_ranks *r, uint32_t cap)
{
	if ((cap > r->cap || !r->bits) && make_room(r, cap) < 0)
		return -ENOMEM;
	memset(r->bits, 0, ((cap >> 6) + 2) * sizeof(*r->bits));
	memset(r->large, 0, ((cap >> 15) + 2) * sizeof(*r->large));
	for (int i = 0; i < MZ_RANKS_LEVELS; i++)
		memset(r->nodes[i], 0, nodes_of(cap, i) * sizeof(*r->nodes[i]));
	r->end = r->live = r->above = 0;
	r->cursor = MZ_RANKS_NONE;
	return 0;
}

void mz_ranks_deinit(struct mz_ranks *r)
{
	free(r->bits);
	free(r->large);
	for (int i = 0; i < MZ_RANKS_LEVELS; i++)
		free(r->nodes[i]);
	*r = (struct mz_ranks){0};
}

void mz_ranks_fill(struct mz_ranks *r, uint32_t n)
{
	while (n--)
		mz_ranks_push(r);
}

uint32_t mz_ranks_above(const struct mz_ranks *r, uint32_t p)
{
	uint32_t n;

	if (p == MZ_RANKS_NONE)
		return r->live;
	if (p + 1 >= r->end)
		return 0;
	n = mz_popcount(r->bits[p >> 6] >> (p & 63) >> 1);
	n += (uint32_t)r->nodes[0][p >> 9][p >> 6 & 7];
	n += (uint32_t)r->nodes[1][p >> 12][p >> 9 & 7];
	n += (uint32_t)r->nodes[2][p >> 15][p >> 12 & 7];
	for (uint32_t i = (r->end - 1) >> 15; i > p >> 15; i--)
		n += r->large[i];
	return n;
}

/* The child that has the block with rank others above it in the node. */
static inline uint32_t child_of(const mz_ranks_node *node, uint32_t *rank)
{
	uint32_t i;
#ifdef __SSE2__
	__m128i more = _mm_cmpgt_epi16((__m128i)*node, _mm_set1_epi16((int16_t)*rank));

	i = (uint32_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(more)) / 2;
#else
	i = 0;
	for (int k = 0; k < 7; k++)
		i += (*node)[k] > (int32_t)*rank;
#endif
	*rank -= (uint32_t)(*node)[i];
	return i;
}

uint32_t mz_ranks_slow(const struct mz_ranks *r, uint32_t rank)
{
	uint32_t i;

	if (rank >= r->live)
		return MZ_RANKS_NONE;
	for (i = (r->end - 1) >> 15; rank >= r->large[i]; i--)
		rank -= r->large[i];
	i = i * 8 + child_of(&r->nodes[2][i], &rank);
	i = i * 8 + child_of(&r->nodes[1][i], &rank);
	i = i * 8 + child_of(&r->nodes[0][i], &rank);
	return (i << 6) + mz_nth_far(r->bits[i], rank);
}

uint32_t mz_ranks_step(struct mz_ranks *r, int64_t step)
{
	uint32_t p = MZ_RANKS_NONE, rank, here;

	if (r->cursor == MZ_RANKS_NONE && step <= 0)
		return MZ_RANKS_NONE;
	if (!step)
		return mz_ranks_is_live(r, r->cursor) ? r->cursor : MZ_RANKS_NONE;
	if (step > (int64_t)r->above || -(step + 1) >= (int64_t)r->live)
		return MZ_RANKS_NONE;
	if (step > 0) {
		rank = r->above - (uint32_t)step;
		if (step == 1)
			p = mz_ranks_next(r, r->cursor);
	} else {
		uint64_t below = r->bits[r->cursor >> 6] & ((1ull << (r->cursor & 63)) - 1);

		here = mz_ranks_is_live(r, r->cursor);
		rank = r->above + here + (uint32_t)(-(step + 1));
		if (step > -32 && (uint32_t)-step <= mz_popcount(below))
			p = (r->cursor & ~63u) + mz_nth_from_top(below, (uint32_t)-step - 1);
	}
	if (p == MZ_RANKS_NONE)
		p = mz_ranks_slow(r, rank);
	if (p != MZ_RANKS_NONE)
		mz_ranks_move(r, p, rank);
	return p;
}

int64_t mz_ranks_steps(const struct mz_ranks *r, uint32_t p, uint32_t rank)
{
	if (r->cursor == p)
		return 0;
	if (r->cursor == MZ_RANKS_NONE || p > r->cursor)
		return (int64_t)r->above - rank;
	return (int64_t)r->above + mz_ranks_is_live(r, r->cursor) - rank - 1;
}
