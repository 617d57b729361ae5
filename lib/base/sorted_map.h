/* SPDX-License-Identifier: BSD-2-Clause */
/* A map ordered by key, with neighbours. */
/*
 * It consists of sorted runs of entries, which are found through one sorted array of the runs'
 * first keys. Two binary searches in memory that the cache likes, and a short move, beat a tree of
 * nodes at every size we meet.
 */
#ifndef MZ_BASE_SORTED_MAP_H
#define MZ_BASE_SORTED_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MZ_RUN_MAX 192

/* Only the keys and the numbers of the places are moved when an entry is put in or taken out:
 * what belongs to a key stays in its place. The numbers behind those in use are the free places. */
struct mz_run {
	size_t used;
	uint64_t key[MZ_RUN_MAX];
	uint8_t place[MZ_RUN_MAX];
	struct {
		uint64_t value, extra;
	} rest[MZ_RUN_MAX];
};

struct mz_sorted_map {
	uint64_t *first; /* first key of each run */
	struct mz_run **runs;
	size_t count;
	size_t cap;
	size_t entries;
};

/* A place in the map; valid until the next change. */
struct mz_map_pos {
	size_t run;
	size_t slot;
};

struct mz_entry {
	uint64_t key, value, extra;
};

void mz_sorted_map_deinit(struct mz_sorted_map *m);

/* Is the key there? at is its place, or the one where it would be put. */
bool mz_sorted_map_find(const struct mz_sorted_map *m, uint64_t key, struct mz_map_pos *at);

/* Put an entry where find() said; at is moved to it. 0 or -ENOMEM. */
int mz_sorted_map_insert(struct mz_sorted_map *m, struct mz_map_pos *at, struct mz_entry e);
void mz_sorted_map_remove(struct mz_sorted_map *m, struct mz_map_pos at);

/* The entry before (after) the one at this place; false = none. */
bool mz_sorted_map_prev(const struct mz_sorted_map *m, struct mz_map_pos at, struct mz_entry *e);
bool mz_sorted_map_next(const struct mz_sorted_map *m, struct mz_map_pos at, struct mz_entry *e);

static inline struct mz_entry mz_sorted_map_at(const struct mz_sorted_map *m, struct mz_map_pos at)
{
	const struct mz_run *r = m->runs[at.run];

	uint8_t place = r->place[at.slot];

	return (struct mz_entry){r->key[at.slot], r->rest[place].value, r->rest[place].extra};
}

#endif
