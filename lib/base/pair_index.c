// SPDX-License-Identifier: BSD-2-Clause
/* Map pairs of 64-bit keys to dense numbers. */
#include "base/pair_index.h"

#include <stdlib.h>

static uint64_t hash(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	return mz_hash_mix(mz_hash_mix(a ^ ix->seed[0], ix->seed[1]) ^ b, ix->seed[1]);
}

void mz_pair_index_deinit(struct mz_pair_index *ix)
{
	free(ix->keys);
	mz_hash_index_deinit(&ix->index);
	*ix = (struct mz_pair_index){0};
}

void mz_pair_index_clear(struct mz_pair_index *ix)
{
	mz_hash_index_clear(&ix->index);
	ix->count = 0;
}

static bool grow(struct mz_pair_index *ix)
{
	struct mz_key *keys = mz_hash_index_extend(&ix->index, ix->seed, ix->keys, sizeof(*keys));

	if (!keys)
		return false;
	ix->keys = keys;
	ix->cap = ix->index.cap;
	return true;
}

/* The number, or NONE and *at is the slot where it would be. */
static inline uint32_t find(const struct mz_pair_index *ix, uint64_t h, uint64_t a, uint64_t b,
			    size_t *at)
{
	uint32_t n;

	for (*at = mz_hash_index_home(&ix->index, h);; *at = mz_hash_index_next(&ix->index, *at)) {
		n = mz_hash_index_candidate(&ix->index, h, at);
		if (n == MZ_HASH_NONE || (ix->keys[n].a == a && ix->keys[n].b == b))
			return n;
	}
}

uint32_t mz_pair_index_get(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	size_t at;

	return ix->count ? find(ix, hash(ix, a, b), a, b, &at) : MZ_PAIR_INDEX_NONE;
}

uint32_t mz_pair_index_put(struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	uint32_t number;
	uint64_t h;
	size_t at;

	if (ix->count == ix->cap && !grow(ix))
		return MZ_PAIR_INDEX_NONE;
	h = hash(ix, a, b);
	number = find(ix, h, a, b, &at);
	if (number != MZ_PAIR_INDEX_NONE)
		return number;
	ix->keys[ix->count++] = (struct mz_key){a, b};
	return mz_hash_index_enter(&ix->index, h, at);
}

void mz_pair_index_ask(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	if (ix->count)
		__builtin_prefetch(
			&ix->index.slots[mz_hash_index_home(&ix->index, hash(ix, a, b))]);
}

/* A guess for prefetching: the first number whose hash matches. The caller's later lookup
 * decides; until then the key's cache line is on its way. */
uint32_t mz_pair_index_expect(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	uint64_t h = hash(ix, a, b);
	size_t at = mz_hash_index_home(&ix->index, h);
	uint32_t number;

	if (!ix->count)
		return MZ_PAIR_INDEX_NONE;
	number = mz_hash_index_candidate(&ix->index, h, &at);
	if (number != MZ_PAIR_INDEX_NONE)
		__builtin_prefetch(&ix->keys[number]);
	return number;
}
