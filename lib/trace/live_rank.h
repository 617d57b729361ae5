/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the blocks of a chunk are live, in order of birth. */
/*
 * A block is found by its rank, and its rank by the block. There are bits, and above them three
 * levels of nodes with eight children each. A node stores for each child how many blocks are live
 * in the children after it, so that no level needs a loop.
 */
#ifndef MZ_TRACE_LIVE_RANK_H
#define MZ_TRACE_LIVE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#define MZ_LIVE_RANK_NONE UINT32_MAX

#define MZ_LIVE_RANK_LEVELS 3

/* Live blocks of the children after each one: at most 7 * 4096, which fits. */
typedef int16_t mz_live_rank_node __attribute__((vector_size(16), may_alias));

struct mz_live_rank {
	uint64_t *bits;
	mz_live_rank_node *nodes[MZ_LIVE_RANK_LEVELS]; /* of 512, 4 Ki and 32 Ki positions */
	uint32_t *large;			       /* live of 32 Ki */
	uint32_t cap;				       /* positions there is room for */
	uint32_t end;				       /* positions in use: 0 .. end - 1 */
	uint32_t live;
	uint32_t cursor; /* a place, live or dead; MZ_LIVE_RANK_NONE: before the first */
	uint32_t above;	 /* live blocks above it, kept up */
	bool here;	 /* it is live; known without a look, which would have to wait */
};

/* What a block in child i adds to its node: 1 for each preceding child. */
extern const mz_live_rank_node mz_live_rank_before[8];

/* Empty, with room for cap positions. 0 or -ENOMEM. */
int mz_live_rank_reset(struct mz_live_rank *r, uint32_t cap);
void mz_live_rank_deinit(struct mz_live_rank *r);

/* The first n positions, all live. */
void mz_live_rank_fill(struct mz_live_rank *r, uint32_t n);

/* Live blocks above position p; p = MZ_LIVE_RANK_NONE: all of them. */
uint32_t mz_live_rank_above(const struct mz_live_rank *r, uint32_t p);

/* The live block with rank others above it; MZ_LIVE_RANK_NONE: too few are live. */
uint32_t mz_live_rank_slow(const struct mz_live_rank *r, uint32_t rank);

static inline bool mz_live_rank_is_live(const struct mz_live_rank *r, uint32_t p)
{
	return r->bits[p >> 6] >> (p & 63) & 1;
}

/* A new block at the end, which must be below cap. */
static inline uint32_t mz_live_rank_push(struct mz_live_rank *r)
{
	uint32_t p = r->end++;

	r->bits[p >> 6] |= 1ull << (p & 63);
	r->nodes[0][p >> 9] += mz_live_rank_before[p >> 6 & 7];
	r->nodes[1][p >> 12] += mz_live_rank_before[p >> 9 & 7];
	r->nodes[2][p >> 15] += mz_live_rank_before[p >> 12 & 7];
	r->large[p >> 15]++;
	r->live++;
	r->above++;
	return p;
}

static inline void mz_live_rank_kill(struct mz_live_rank *r, uint32_t p)
{
	r->bits[p >> 6] &= ~(1ull << (p & 63));
	r->nodes[0][p >> 9] -= mz_live_rank_before[p >> 6 & 7];
	r->nodes[1][p >> 12] -= mz_live_rank_before[p >> 9 & 7];
	r->nodes[2][p >> 15] -= mz_live_rank_before[p >> 12 & 7];
	r->large[p >> 15]--;
	r->live--;
	r->above -= p > r->cursor || r->cursor == MZ_LIVE_RANK_NONE;
	r->here &= p != r->cursor;
}

/* Put the cursor to p, which is live and has rank live blocks above it. */
static inline void mz_live_rank_move(struct mz_live_rank *r, uint32_t p, uint32_t rank)
{
	r->cursor = p;
	r->above = rank;
	r->here = true;
}

static inline uint32_t mz_popcount(uint64_t v)
{
	/* without a popcount instruction, which plain x86-64 lacks, the builtin is a function
	 * call */
	v -= v >> 1 & 0x5555555555555555u;
	v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
	return (uint32_t)(((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* For small numbers. Written so that no compiler makes a branch of it, which
 * nothing could predict. */
static inline uint32_t mz_all_ones_if_not_below(uint32_t a, uint32_t b)
{
	return (uint32_t)((int32_t)(b - 1 - a) >> 31);
}

/* The bit with rank set bits above it, without a branch that depends on it. */
static inline uint32_t mz_nth_far(uint64_t v, uint32_t rank)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t twos = v - (v >> 1 & 0x5555555555555555u);
	uint64_t fours = (twos & 0x3333333333333333u) + (twos >> 2 & 0x3333333333333333u);
	/* in each byte the bits of it and of those below */
	uint64_t sums = ((fours + (fours >> 4)) & 0x0f0f0f0f0f0f0f0fu) * ones;
	uint32_t k = (uint32_t)(sums >> 56) - 1 - rank, n, at, past;

	at = (uint32_t)((((k * ones | ones << 7) - sums) >> 7 & ones) * ones >> 56) * 8;
	k -= (uint32_t)(sums << 8 >> at & 0xff);
	n = (uint32_t)(fours >> at & 15);
	past = mz_all_ones_if_not_below(k, n);
	at += past & 4;
	k -= past & n;
	n = (uint32_t)(twos >> at & 3);
	past = mz_all_ones_if_not_below(k, n);
	at += past & 2;
	k -= past & n;
	return at + (k >= (v >> at & 1));
}

/* The same where it is likely to be near; there are enough of them. */
static inline uint32_t mz_nth_from_top(uint64_t v, uint32_t rank)
{
	if (rank >= 6)
		return mz_nth_far(v, rank);
	while (rank--)
		v ^= 1ull << (63 - __builtin_clzll(v));
	return 63 - (uint32_t)__builtin_clzll(v);
}

/* The first live block after a place, if it is near; otherwise MZ_LIVE_RANK_NONE. */
static inline uint32_t mz_live_rank_next(const struct mz_live_rank *r, uint32_t from)
{
	uint32_t p = from + 1, w = p >> 6, last = (r->end ? r->end - 1 : 0) >> 6;
	uint64_t v;

	if (p >= r->end)
		return MZ_LIVE_RANK_NONE;
	v = r->bits[w] >> (p & 63);
	if (v)
		return p + (uint32_t)__builtin_ctzll(v);
	for (int i = 0; i < 8 && w < last; i++)
		if (r->bits[++w])
			return (w << 6) + (uint32_t)__builtin_ctzll(r->bits[w]);
	return MZ_LIVE_RANK_NONE;
}

/* Most blocks that are looked up are near the top. */
static inline uint32_t mz_live_rank_find(const struct mz_live_rank *r, uint32_t rank)
{
	uint32_t left = rank, w;

	if (rank >= r->live)
		return MZ_LIVE_RANK_NONE;
	w = (r->end - 1) >> 6;
	for (int i = 0; i < 2; i++) {
		uint32_t n = mz_popcount(r->bits[w]);

		if (left < n)
			return (w << 6) + mz_nth_from_top(r->bits[w], left);
		left -= n;
		if (!w--)
			break;
	}
	return mz_live_rank_slow(r, rank);
}

/*
 * A block by its distance from the cursor: +1 is the first live one after it,
 * -1 the first before it, 0 itself. The cursor moves there; MZ_LIVE_RANK_NONE, and
 * it stays, if there is none.
 */
uint32_t mz_live_rank_step(struct mz_live_rank *r, int64_t step);

/* The same, and the block is no longer live. */
uint32_t mz_live_rank_take_step(struct mz_live_rank *r, int64_t step);

/* The live block with rank others above it. The cursor moves there, and the block is no longer
 * live. */
uint32_t mz_live_rank_take(struct mz_live_rank *r, uint32_t rank);

/* The step that leads from the cursor to p, which is live and has rank above it. */
int64_t mz_live_rank_steps(const struct mz_live_rank *r, uint32_t p, uint32_t rank);

#endif
