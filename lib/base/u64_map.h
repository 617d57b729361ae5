/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers by number: open addressing, nothing is ever taken out. */
#ifndef MZ_BASE_U64_MAP_H
#define MZ_BASE_U64_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mz_u64_map {
	uint64_t *key; /* 0 = empty */
	uint32_t *value;
	uint32_t mask;
	uint32_t used;
};

void mz_u64_map_deinit(struct mz_u64_map *m);
void mz_u64_map_clear(struct mz_u64_map *m);
int mz_u64_map_grow(struct mz_u64_map *m);

static inline uint32_t mz_u64_map_slot(const struct mz_u64_map *m, uint64_t key)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & m->mask;

	while (m->key[i] && m->key[i] != key)
		i = (i + 1) & m->mask;
	return i;
}

/* The value of a key, which is not 0; *is_new and 0 if it has none yet. NULL: no
 * memory. Holds until the next call. */
static inline uint32_t *mz_u64_map_at(struct mz_u64_map *m, uint64_t key, bool *is_new)
{
	uint32_t i;

	if (m->used >= m->mask / 2 && mz_u64_map_grow(m) < 0)
		return NULL;
	i = mz_u64_map_slot(m, key);
	*is_new = !m->key[i];
	if (*is_new) {
		m->key[i] = key;
		m->value[i] = 0;
		m->used++;
	}
	return &m->value[i];
}

#endif
