// SPDX-License-Identifier: BSD-2-Clause
#include "trace/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 1024

void mz_map_deinit(struct mz_map *m)
{
	free(m->key);
	free(m->value);
	*m = (struct mz_map){0};
}

void mz_map_clear(struct mz_map *m)
{
	if (m->used)
		memset(m->key, 0, ((size_t)m->mask + 1) * sizeof(*m->key));
	m->used = 0;
}

int mz_map_grow(struct mz_map *m)
{
	struct mz_map wide = {.mask = m->key ? m->mask * 2 + 1 : FIRST - 1, .used = m->used};

	wide.key = calloc((size_t)wide.mask + 1, sizeof(*wide.key));
	wide.value = malloc(((size_t)wide.mask + 1) * sizeof(*wide.value));
	if (!wide.key || !wide.value) {
		mz_map_deinit(&wide);
		return -ENOMEM;
	}
	for (uint32_t i = 0; m->key && i <= m->mask; i++) {
		if (m->key[i]) {
			uint32_t to = mz_map_slot(&wide, m->key[i]);

			wide.key[to] = m->key[i];
			wide.value[to] = m->value[i];
		}
	}
	mz_map_deinit(m);
	*m = wide;
	return 0;
}
