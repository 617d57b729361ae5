// SPDX-License-Identifier: BSD-2-Clause
/* Map nonzero 64-bit keys to 32-bit values in an open-addressed table. */
#include "base/u64_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 1024

void mz_u64_map_deinit(struct mz_u64_map *m)
{
	free(m->key);
	free(m->value);
	*m = (struct mz_u64_map){0};
}

void mz_u64_map_clear(struct mz_u64_map *m)
{
	if (m->used)
		memset(m->key, 0, ((size_t)m->mask + 1) * sizeof(*m->key));
	m->used = 0;
}

int mz_u64_map_grow(struct mz_u64_map *m)
{
	struct mz_u64_map wide = {.mask = m->key ? m->mask * 2 + 1 : FIRST - 1, .used = m->used};

	wide.key = calloc((size_t)wide.mask + 1, sizeof(*wide.key));
	wide.value = malloc(((size_t)wide.mask + 1) * sizeof(*wide.value));
	if (!wide.key || !wide.value) {
		mz_u64_map_deinit(&wide);
		return -ENOMEM;
	}
	for (uint32_t i = 0; m->key && i <= m->mask; i++) {
		if (m->key[i]) {
			uint32_t to = mz_u64_map_slot(&wide, m->key[i]);

			wide.key[to] = m->key[i];
			wide.value[to] = m->value[i];
		}
	}
	mz_u64_map_deinit(m);
	*m = wide;
	return 0;
}
