/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the blocks of a chunk are live, in order of birth; a block is found
 * by its rank and its rank by the block. Bits, with counts of three widths
 * above them.
 */
#ifndef MZ_TRACE_RANKS_H
#define MZ_TRACE_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#define MZ_RANKS_NONE UINT32_MAX

struct mz_ranks {
	uint64_t *bits;
	uint16_t *small; /* live of 512 */
	uint16_t *mid;	 /* live of 16 Ki */
	uint32_t *large; /* live of 512 Ki */
	uint32_t cap;	 /* positions there is room for */
	uint32_t end;	 /* positions in use: 0 .. end - 1 */
	uint32_t live;
};

/* Empty, with room for cap positions. 0 or -ENOMEM. */
int mz_ranks_reset(struct mz_ranks *r, uint32_t cap);
void mz_ranks_deinit(struct mz_ranks *r);

/* The first n positions, all live. */
void mz_ranks_fill(struct mz_ranks *r, uint32_t n);

/* Live blocks above position p; p = MZ_RANKS_NONE: all of them. */
uint32_t mz_ranks_above(const struct mz_ranks *r, uint32_t p);

/* The live block with rank others above it; MZ_RANKS_NONE: too few are live. */
uint32_t mz_ranks_slow(const struct mz_ranks *r, uint32_t rank);

static inline bool mz_ranks_is_live(const struct mz_ranks *r, uint32_t p)
{
	return r->bits[p >> 6] >> (p & 63) & 1;
}

/* A new block at the end, which must be below cap. */
static inline uint32_t mz_ranks_push(struct mz_ranks *r)
{
	uint32_t p = r->end++;

	r->bits[p >> 6] |= 1ull << (p & 63);
	r->small[p >> 9]++;
	r->mid[p >> 14]++;
	r->large[p >> 19]++;
	r->live++;
	return p;
}

static inline void mz_ranks_kill(struct mz_ranks *r, uint32_t p)
{
	r->bits[p >> 6] &= ~(1ull << (p & 63));
	r->small[p >> 9]--;
	r->mid[p >> 14]--;
	r->large[p >> 19]--;
	r->live--;
}

static inline uint32_t mz_popcount(uint64_t v)
{
	/* the builtin is a call without the instruction, which a plain x86-64 lacks */
	v -= v >> 1 & 0x5555555555555555u;
	v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
	return (uint32_t)(((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* The bit with rank set bits above it; there are enough of them. */
static inline uint32_t mz_nth_from_top(uint64_t v, uint32_t rank)
{
	uint32_t low = 0;

	if (rank >= 6) {
		for (uint32_t half = 32; half >= 8; half /= 2) {
			uint64_t top = v >> half;
			uint32_t n = mz_popcount(top);
			bool up = rank < n;

			rank -= up ? 0 : n;
			low += up ? half : 0;
			v = up ? top : v & ((1ull << half) - 1);
		}
	}
	while (rank--)
		v ^= 1ull << (63 - __builtin_clzll(v));
	return low + 63 - (uint32_t)__builtin_clzll(v);
}

/* The first live block after a place, if it is not far; else MZ_RANKS_NONE. */
static inline uint32_t mz_ranks_next(const struct mz_ranks *r, uint32_t from)
{
	uint32_t p = from + 1, w = p >> 6, last = (r->end ? r->end - 1 : 0) >> 6;
	uint64_t v;

	if (p >= r->end)
		return MZ_RANKS_NONE;
	v = r->bits[w] >> (p & 63);
	if (v)
		return p + (uint32_t)__builtin_ctzll(v);
	for (int i = 0; i < 8 && w < last; i++)
		if (r->bits[++w])
			return (w << 6) + (uint32_t)__builtin_ctzll(r->bits[w]);
	return MZ_RANKS_NONE;
}

/* Most of those asked for are near the top. */
static inline uint32_t mz_ranks_find(const struct mz_ranks *r, uint32_t rank)
{
	uint32_t left = rank, w;

	if (rank >= r->live)
		return MZ_RANKS_NONE;
	w = (r->end - 1) >> 6;
	for (int i = 0; i < 4; i++) {
		uint32_t n = mz_popcount(r->bits[w]);

		if (left < n)
			return (w << 6) + mz_nth_from_top(r->bits[w], left);
		left -= n;
		if (!w--)
			break;
	}
	return mz_ranks_slow(r, rank);
}

/*
 * A block by its distance from the place of another, live or dead: +1 is the
 * first live one after it, -1 the first before it, 0 itself. The place before
 * the first is MZ_RANKS_NONE. The result may be MZ_RANKS_NONE.
 */
uint32_t mz_ranks_step(const struct mz_ranks *r, uint32_t from, int64_t step);

/* The step that leads from there to p, which is live and has above above it. */
int64_t mz_ranks_steps(const struct mz_ranks *r, uint32_t from, uint32_t p, uint32_t above);

#endif
