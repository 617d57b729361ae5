/* SPDX-License-Identifier: BSD-2-Clause */
/* Dense numbers by hash: 0 for the first, 1 for the next. */
/*
 * The things themselves are in an array of the caller's at their number; the index keeps 32 bits of
 * their hash. It is the one core of the tables that number things: pairs (pair_index.h), runs of
 * bytes (bytes_index.h), frames of call stacks, patterns of the encoder.
 */
#ifndef MZ_BASE_HASH_INDEX_H
#define MZ_BASE_HASH_INDEX_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/spill.h"

#define MZ_HASH_NONE UINT32_MAX

struct mz_hash_index {
	uint64_t *slots; /* 0 = free; else the upper half of the hash, and number + 1 */
	size_t count, cap, mask;
	struct mz_spill_array memory; /* of the slots */
	const struct mz_spill *spill; /* where a large table goes; NULL = it stays in memory */
};

void mz_hash_index_deinit(struct mz_hash_index *ix);
/* Without numbers, and ready for new ones. */
void mz_hash_index_clear(struct mz_hash_index *ix);
/* Twice the slots; at most two thirds of them are used. False: no memory. */
bool mz_hash_index_grow(struct mz_hash_index *ix);
/* Room for one more here and in the caller's array of things, which are `size` bytes each; an
 * empty index draws the seeds of its hash. The array, for ix->cap things; NULL: no memory. */
void *mz_hash_index_extend(struct mz_hash_index *ix, uint64_t seed[2], void *things, size_t size);

static inline size_t mz_hash_index_home(const struct mz_hash_index *ix, uint64_t h)
{
	return (h >> 32) & ix->mask;
}

/* Slots of the hash: for (at = home; (number = candidate) != NONE; at = next). A number is
 * returned only if the halves of the hashes are the same; *at is its slot, or with NONE
 * the free one. */
static inline uint32_t mz_hash_index_candidate(const struct mz_hash_index *ix, uint64_t h,
					       size_t *at)
{
	for (;; *at = (*at + 1) & ix->mask) {
		uint64_t slot = ix->slots[*at];

		if (!slot)
			return MZ_HASH_NONE;
		if (slot >> 32 == h >> 32)
			return (uint32_t)slot - 1;
	}
}

static inline size_t mz_hash_index_next(const struct mz_hash_index *ix, size_t at)
{
	return (at + 1) & ix->mask;
}

/* There is room for one more, without moving anything. */
static inline bool mz_hash_index_room(struct mz_hash_index *ix)
{
	return ix->count < ix->cap || mz_hash_index_grow(ix);
}

/* A number into the free slot that the search for the hash ended at: the next one, or one of the
 * caller's. */
static inline void mz_hash_index_enter_as(struct mz_hash_index *ix, uint64_t h, size_t at,
					  uint32_t number)
{
	ix->slots[at] = (h >> 32) << 32 | ((uint64_t)number + 1);
	ix->count++;
}

static inline uint32_t mz_hash_index_enter(struct mz_hash_index *ix, uint64_t h, size_t at)
{
	uint32_t number = (uint32_t)ix->count;

	mz_hash_index_enter_as(ix, h, at, number);
	return number;
}

#endif
