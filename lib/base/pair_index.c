// SPDX-License-Identifier: BSD-2-Clause
/* Map pairs of 64-bit keys to dense numbers. */
#include "base/pair_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 1024u /* slots; a power of two */

static uint64_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * 0xd6e8feb86659fd93u)) * 0x9e3779b97f4a7c15u;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93u;
}

void mz_pair_index_deinit(struct mz_pair_index *ix)
{
	free(ix->keys);
	free(ix->slots);
	*ix = (struct mz_pair_index){0};
}

void mz_pair_index_clear(struct mz_pair_index *ix)
{
	if (ix->slots && ix->count)
		memset(ix->slots, 0, (ix->mask + 1) * sizeof(*ix->slots));
	ix->count = 0;
}

static void enter(struct mz_pair_index *ix, uint64_t h, uint64_t number)
{
	size_t at = (h >> 20) & ix->mask;

	while (ix->slots[at])
		at = (at + 1) & ix->mask;
	ix->slots[at] = h << 32 | (number + 1);
}

/* Twice the slots; at most two thirds of them are used. */
static bool grow(struct mz_pair_index *ix)
{
	size_t slots = ix->slots ? 2 * (ix->mask + 1) : FIRST, cap = slots / 3 * 2;
	struct mz_key *keys;
	uint64_t *p;

	if (cap >= MZ_PAIR_INDEX_NONE)
		return false;
	keys = realloc(ix->keys, cap * sizeof(*keys));
	if (!keys)
		return false;
	ix->keys = keys;
	p = calloc(slots, sizeof(*p));
	if (!p)
		return false;
	free(ix->slots);
	ix->slots = p;
	ix->mask = slots - 1;
	ix->cap = cap;
	for (size_t i = 0; i < ix->count; i++)
		enter(ix, hash(keys[i].a, keys[i].b), i);
	return true;
}

static uint32_t find(const struct mz_pair_index *ix, uint64_t h, uint64_t a, uint64_t b)
{
	for (size_t at = (h >> 20) & ix->mask; ix->slots[at]; at = (at + 1) & ix->mask) {
		uint32_t number = (uint32_t)ix->slots[at] - 1;

		if (ix->slots[at] >> 32 == (uint32_t)h && ix->keys[number].a == a &&
		    ix->keys[number].b == b)
			return number;
	}
	return MZ_PAIR_INDEX_NONE;
}

uint32_t mz_pair_index_get(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	return ix->slots ? find(ix, hash(a, b), a, b) : MZ_PAIR_INDEX_NONE;
}

uint32_t mz_pair_index_put(struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	uint64_t h = hash(a, b);
	uint32_t number = ix->slots ? find(ix, h, a, b) : MZ_PAIR_INDEX_NONE;

	if (number != MZ_PAIR_INDEX_NONE)
		return number;
	if (ix->count == ix->cap && !grow(ix))
		return MZ_PAIR_INDEX_NONE;
	number = (uint32_t)ix->count++;
	ix->keys[number] = (struct mz_key){a, b};
	enter(ix, h, number);
	return number;
}

void mz_pair_index_ask(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	if (ix->slots)
		__builtin_prefetch(&ix->slots[(hash(a, b) >> 20) & ix->mask]);
}

uint32_t mz_pair_index_expect(const struct mz_pair_index *ix, uint64_t a, uint64_t b)
{
	uint64_t h = hash(a, b);

	if (!ix->slots)
		return MZ_PAIR_INDEX_NONE;
	for (size_t at = (h >> 20) & ix->mask; ix->slots[at]; at = (at + 1) & ix->mask) {
		uint32_t number = (uint32_t)ix->slots[at] - 1;

		if (ix->slots[at] >> 32 != (uint32_t)h)
			continue;
		__builtin_prefetch(&ix->keys[number]);
		return number;
	}
	return MZ_PAIR_INDEX_NONE;
}

bool mz_pair_index_room(void **array, size_t *cap, size_t at, size_t size)
{
	size_t want = *cap + *cap / 2;
	char *p;

	if (at < *cap)
		return true;
	if (want <= at)
		want = at < 64 ? 64 : at + at / 2;
	p = realloc(*array, want * size);
	if (!p)
		return false;
	memset(p + *cap * size, 0, (want - *cap) * size);
	*array = p;
	*cap = want;
	return true;
}
