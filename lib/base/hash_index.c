// SPDX-License-Identifier: BSD-2-Clause
/* Grow and clear an index of dense numbers by hash. */
#include "base/hash_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 1024u /* slots; a power of two */

void mz_hash_index_deinit(struct mz_hash_index *ix)
{
	free(ix->slots);
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
	size_t slots = ix->slots ? 2 * (ix->mask + 1) : FIRST;
	struct mz_hash_index to = {.count = ix->count, .cap = slots / 3 * 2, .mask = slots - 1};

	if (to.cap >= MZ_HASH_NONE)
		return false;
	to.slots = calloc(slots, sizeof(*to.slots));
	if (!to.slots)
		return false;
	for (size_t i = 0; ix->slots && i <= ix->mask; i++) {
		size_t at = mz_hash_index_home(&to, ix->slots[i]);

		if (!ix->slots[i])
			continue;
		while (to.slots[at])
			at = mz_hash_index_next(&to, at);
		to.slots[at] = ix->slots[i];
	}
	free(ix->slots);
	*ix = to;
	return true;
}
