// SPDX-License-Identifier: BSD-2-Clause
/* Number runs of bytes and keep each once. */
#include "base/bytes_index.h"

#include <stdlib.h>
#include <string.h>

void mz_bytes_index_deinit(struct mz_bytes_index *ix)
{
	for (size_t i = 0; i < ix->count; i++)
		free((void *)ix->items[i].data);
	free(ix->items);
	mz_hash_index_deinit(&ix->index);
	*ix = (struct mz_bytes_index){0};
}

static bool grow(struct mz_bytes_index *ix)
{
	struct mz_bytes_item *items =
		mz_hash_index_extend(&ix->index, ix->seed, ix->items, sizeof(*items));

	if (!items)
		return false;
	ix->items = items;
	ix->cap = ix->index.cap;
	return true;
}

/* The number, or NONE and *at is the slot where it would be. */
static uint32_t find(const struct mz_bytes_index *ix, uint64_t h, const void *data, size_t len,
		     size_t *at)
{
	for (*at = mz_hash_index_home(&ix->index, h);; *at = mz_hash_index_next(&ix->index, *at)) {
		uint32_t n = mz_hash_index_candidate(&ix->index, h, at);

		if (n == MZ_HASH_NONE ||
		    (ix->items[n].len == len && (!len || !memcmp(ix->items[n].data, data, len))))
			return n;
	}
}

/* A copy in the next item, for which there is room. */
static inline __attribute__((always_inline)) bool keep(struct mz_bytes_index *ix, const void *data,
						       size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return false;
	if (len)
		memcpy(copy, data, len);
	copy[len] = '\0';
	ix->items[ix->count++] = (struct mz_bytes_item){copy, len};
	return true;
}

uint32_t mz_bytes_index_put(struct mz_bytes_index *ix, const void *data, size_t len)
{
	uint32_t number;
	uint64_t h;
	size_t at;

	if (ix->count == ix->cap && !grow(ix))
		return MZ_HASH_NONE;
	h = mz_hash_bytes(data, len, ix->seed);
	number = find(ix, h, data, len, &at);
	if (number != MZ_HASH_NONE)
		return number;
	if (!keep(ix, data, len))
		return MZ_HASH_NONE;
	return mz_hash_index_enter(&ix->index, h, at);
}

/* The number is one of the index's, which has no slot for it. */
uint32_t mz_bytes_index_skip(struct mz_bytes_index *ix)
{
	if (ix->count == ix->cap && !grow(ix))
		return MZ_HASH_NONE;
	ix->items[ix->count++] = (struct mz_bytes_item){0};
	return (uint32_t)ix->index.count++;
}
