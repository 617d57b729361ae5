/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map ordered by key, with neighbours: sorted runs of entries, found through
 * one sorted array of the runs' first keys. Two binary searches in memory that
 * the cache likes, and a short move, beat a tree of nodes at every size we meet.
 */
#ifndef MZ_BASE_ORDERED_H
#define MZ_BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MZ_RUN_MAX 192

struct mz_run {
	size_t used;
	uint64_t key[MZ_RUN_MAX];
	uint64_t value[MZ_RUN_MAX];
	uint64_t extra[MZ_RUN_MAX];
};

struct mz_ordered {
	uint64_t *first; /* first key of each run */
	struct mz_run **runs;
	size_t count;
	size_t cap;
	size_t entries;
};

/* A place in the map; valid until the next change. */
struct mz_place {
	size_t run;
	size_t slot;
};

struct mz_entry {
	uint64_t key, value, extra;
};

void mz_ordered_deinit(struct mz_ordered *m);

/* Is the key there? at is its place, or the one where it would be put. */
bool mz_ordered_find(const struct mz_ordered *m, uint64_t key, struct mz_place *at);

/* Put an entry where find() said; at is moved to it. 0 or -ENOMEM. */
int mz_ordered_insert(struct mz_ordered *m, struct mz_place *at, struct mz_entry e);
void mz_ordered_remove(struct mz_ordered *m, struct mz_place at);

/* The entry before (after) the one at this place; false = none. */
bool mz_ordered_prev(const struct mz_ordered *m, struct mz_place at, struct mz_entry *e);
bool mz_ordered_next(const struct mz_ordered *m, struct mz_place at, struct mz_entry *e);

static inline struct mz_entry mz_ordered_at(const struct mz_ordered *m, struct mz_place at)
{
	const struct mz_run *r = m->runs[at.run];

	return (struct mz_entry){r->key[at.slot], r->value[at.slot], r->extra[at.slot]};
}

#endif
