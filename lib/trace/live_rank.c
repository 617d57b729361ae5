// SPDX-License-Identifier: BSD-2-Clause
/* Convert between blocks and their rank among the live blocks of a chunk. */
#include "trace/live_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Added to or subtracted from a node, row i changes the counts of the children before child i by
 * one. */
const mz_live_rank_node mz_live_rank_before[8] = {
	{0},
	{1},
	{1, 1},
	{1, 1, 1},
	{1, 1, 1, 1},
	{1, 1, 1, 1, 1},
	{1, 1, 1, 1, 1, 1},
	{1, 1, 1, 1, 1, 1, 1},
};

/* How many nodes a level needs for a number of positions. */
static size_t nodes_of(uint32_t cap, int level)
{
	return (cap >> (9 + 3 * level)) + 2;
}

/* The old contents are not kept: a chunk starts with an empty set. */
static int make_room(struct mz_live_rank *r, uint32_t cap)
{
	bool failed = false;

	mz_live_rank_deinit(r);
	r->bits = malloc(((cap >> 6) + 2) * sizeof(*r->bits));
	r->large = malloc(((cap >> 15) + 2) * sizeof(*r->large));
	for (int i = 0; i < MZ_LIVE_RANK_LEVELS; i++) {
		r->nodes[i] = malloc(nodes_of(cap, i) * sizeof(*r->nodes[i]));
		failed |= !r->nodes[i];
	}
	if (failed || !r->bits || !r->large) {
		mz_live_rank_deinit(r);
		return -ENOMEM;
	}
	r->cap = cap;
	return 0;
}

int mz_live_rank_reset(struct mz_live_rank *r, uint32_t cap)
{
	if ((cap > r->cap || !r->bits) && make_room(r, cap) < 0)
		return -ENOMEM;
	memset(r->bits, 0, ((cap >> 6) + 2) * sizeof(*r->bits));
	memset(r->large, 0, ((cap >> 15) + 2) * sizeof(*r->large));
	for (int i = 0; i < MZ_LIVE_RANK_LEVELS; i++)
		memset(r->nodes[i], 0, nodes_of(cap, i) * sizeof(*r->nodes[i]));
	r->end = r->live = r->above = 0;
	r->cursor = MZ_LIVE_RANK_NONE;
	r->here = false;
	return 0;
}

void mz_live_rank_deinit(struct mz_live_rank *r)
{
	free(r->bits);
	free(r->large);
	for (int i = 0; i < MZ_LIVE_RANK_LEVELS; i++)
		free(r->nodes[i]);
	*r = (struct mz_live_rank){0};
}

/* The guests of a chunk, which are live before its first event. */
void mz_live_rank_fill(struct mz_live_rank *r, uint32_t n)
{
	while (n--)
		mz_live_rank_push(r);
}

/* A lookup per level instead of a sum over words; only the few parts of 2^15 blocks are walked. */
uint32_t mz_live_rank_above(const struct mz_live_rank *r, uint32_t p)
{
	uint32_t n;

	if (p == MZ_LIVE_RANK_NONE)
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
static inline uint32_t child_of(const mz_live_rank_node *node, uint32_t *rank)
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

/* From the top of the tree down to the bit. Callers try the neighbourhood of the last block
 * first. */
uint32_t mz_live_rank_slow(const struct mz_live_rank *r, uint32_t rank)
{
	uint32_t i;

	if (rank >= r->live)
		return MZ_LIVE_RANK_NONE;
	for (i = (r->end - 1) >> 15; rank >= r->large[i]; i--)
		rank -= r->large[i];
	i = i * 8 + child_of(&r->nodes[2][i], &rank);
	i = i * 8 + child_of(&r->nodes[1][i], &rank);
	i = i * 8 + child_of(&r->nodes[0][i], &rank);
	return (i << 6) + mz_nth_far(r->bits[i], rank);
}

/* child_of(), and one block less in it: the lanes that have more than the rank
 * are just those of the children before it. */
static inline uint32_t take_child(mz_live_rank_node *node, uint32_t *rank)
{
#ifdef __SSE2__
	__m128i more = _mm_cmpgt_epi16((__m128i)*node, _mm_set1_epi16((int16_t)*rank));
	uint32_t i = (uint32_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(more)) / 2;

	*rank -= (uint32_t)(*node)[i];
	*node += (mz_live_rank_node)more;
#else
	uint32_t i = child_of(node, rank);

	*node -= mz_live_rank_before[i];
#endif
	return i;
}

/*
 * Each level is written as soon as its child is known, and the rank needs no position. The
 * processor can therefore begin the next search while it finishes this one.
 */
uint32_t mz_live_rank_take(struct mz_live_rank *r, uint32_t rank)
{
	uint32_t i, p, left = rank;

	if (rank >= r->live)
		return MZ_LIVE_RANK_NONE;
	for (i = (r->end - 1) >> 15; left >= r->large[i]; i--)
		left -= r->large[i];
	r->large[i]--;
	r->live--;
	i = i * 8 + take_child(&r->nodes[2][i], &left);
	i = i * 8 + take_child(&r->nodes[1][i], &left);
	i = i * 8 + take_child(&r->nodes[0][i], &left);
	p = (i << 6) + mz_nth_far(r->bits[i], left);
	r->bits[i] &= ~(1ull << (p & 63));
	mz_live_rank_move(r, p, rank);
	r->here = false;
	return p;
}

/* The rank of the block at a step from the cursor; MZ_LIVE_RANK_NONE: there is none. */
static inline uint32_t rank_at(const struct mz_live_rank *r, int64_t step)
{
	if (step > 0)
		return step > (int64_t)r->above ? MZ_LIVE_RANK_NONE : r->above - (uint32_t)step;
	if (r->cursor == MZ_LIVE_RANK_NONE || (!step && !r->here) ||
	    -(step + 1) >= (int64_t)r->live)
		return MZ_LIVE_RANK_NONE;
	return step ? r->above + r->here + (uint32_t)(-(step + 1)) : r->above;
}

/* The live block at a short step, if it is near. */
static inline uint32_t near(const struct mz_live_rank *r, int64_t step)
{
	uint64_t below;

	if (step == 1)
		return mz_live_rank_next(r, r->cursor);
	if (step >= 0 || step <= -32)
		return MZ_LIVE_RANK_NONE;
	below = r->bits[r->cursor >> 6] & ((1ull << (r->cursor & 63)) - 1);
	if ((uint32_t)-step > mz_popcount(below))
		return MZ_LIVE_RANK_NONE;
	return (r->cursor & ~63u) + mz_nth_from_top(below, (uint32_t)-step - 1);
}

/* Frees follow each other at short steps far more often than not: a look at one word replaces the
 * search. */
uint32_t mz_live_rank_take_step(struct mz_live_rank *r, int64_t step)
{
	uint32_t rank = rank_at(r, step), p;

	if (rank == MZ_LIVE_RANK_NONE)
		return MZ_LIVE_RANK_NONE;
	p = near(r, step);
	if (p == MZ_LIVE_RANK_NONE)
		return mz_live_rank_take(r, rank);
	mz_live_rank_move(r, p, rank);
	mz_live_rank_kill(r, p);
	return p;
}

uint32_t mz_live_rank_step(struct mz_live_rank *r, int64_t step)
{
	uint32_t rank = rank_at(r, step), p;

	if (rank == MZ_LIVE_RANK_NONE)
		return MZ_LIVE_RANK_NONE;
	p = step ? near(r, step) : r->cursor;
	if (p == MZ_LIVE_RANK_NONE)
		p = mz_live_rank_slow(r, rank);
	if (p != MZ_LIVE_RANK_NONE)
		mz_live_rank_move(r, p, rank);
	return p;
}

int64_t mz_live_rank_steps(const struct mz_live_rank *r, uint32_t p, uint32_t rank)
{
	if (r->cursor == p)
		return 0;
	if (r->cursor == MZ_LIVE_RANK_NONE || p > r->cursor)
		return (int64_t)r->above - rank;
	return (int64_t)r->above + r->here - rank - 1;
}
