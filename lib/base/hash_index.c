// SPDX-License-Identifier: BSD-2-Clause
/* Grow and clear an index of dense numbers by hash. */
#include "base/hash_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 1024u  /* slots; a power of two */
#define SMALL 32768u /* below, memory is cheaper than entering everything again */

void mz_hash_index_deinit(struct mz_hash_index *ix)
{
	mz_spill_free(&ix->memory);
	*ix = (struct mz_hash_index){0};
}

void mz_hash_index_clear(struct mz_hash_index *ix)
{
	if (ix->slots && ix->count)
		memset(ix->slots, 0, (ix->mask + 1) * sizeof(*ix->slots));
	ix->count = 0;
}

bool mz_hash_index_grow(struct mz_hash_index *ix)
{
	size_t slots = ix->slots ? (ix->mask < SMALL ? 4 : 2) * (ix->mask + 1) : FIRST;
	struct mz_hash_index to = {
		.count = ix->count, .cap = slots / 3 * 2, .mask = slots - 1, .spill = ix->spill};

	if (to.cap >= MZ_HASH_NONE ||
	    mz_spill_room(ix->spill, &to.memory, slots * sizeof(*to.slots)) < 0)
		return false;
	to.slots = to.memory.data;
	for (size_t i = 0; ix->slots && i <= ix->mask; i++) {
		uint64_t slot = ix->slots[i];
		size_t at;

		if (!slot)
			continue;
		for (at = mz_hash_index_home(&to, slot); to.slots[at];)
			at = mz_hash_index_next(&to, at);
		to.slots[at] = slot;
	}
	mz_spill_free(&ix->memory);
	*ix = to;
	return true;
}

void *mz_hash_index_extend(struct mz_hash_index *ix, uint64_t seed[2], void *things, size_t size)
{
	if (!ix->slots) {
		mz_hash_random(seed, 2);
		seed[1] |= 1;
	}
	return mz_hash_index_room(ix) ? realloc(things, ix->cap * size) : NULL;
}
