// SPDX-License-Identifier: BSD-2-Clause
/* Keep keys in order as sorted runs, with lookup of neighbours. */
#include "base/sorted_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void mz_sorted_map_deinit(struct mz_sorted_map *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->runs[i]);
	free(m->runs);
	free(m->first);
	*m = (struct mz_sorted_map){0};
}

/* The keys have arrays of their own, so that a binary search touches few cache lines. */
static size_t below(const uint64_t *keys, size_t n, uint64_t key)
{
	return mz_array_below(keys, n, sizeof(*keys), 0, key);
}

/* The slot may be one behind the last entry of its run: the place of a key that is greater than all
 * of the run and less than the first of the next one. */
bool mz_sorted_map_find(const struct mz_sorted_map *m, uint64_t key, struct mz_map_pos *at)
{
	const struct mz_run *r;
	size_t run;

	*at = (struct mz_map_pos){0};
	if (!m->count)
		return false;
	run = below(m->first, m->count, key);
	/* the run that begins at or below the key; the first takes all before it */
	if (run == m->count || m->first[run] != key)
		run = run ? run - 1 : 0;
	r = m->runs[run];
	at->run = run;
	at->slot = below(r->key, r->used, key);
	return at->slot < r->used && r->key[at->slot] == key;
}

static int add_run(struct mz_sorted_map *m, size_t at)
{
	struct mz_run *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	/* if only the first array can grow, the capacity remains that of both */
	if (m->count == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 16;
		struct mz_run **runs = realloc(m->runs, cap * sizeof(*runs));
		uint64_t *first;

		if (runs)
			m->runs = runs;
		first = runs ? realloc(m->first, cap * sizeof(*first)) : NULL;
		if (!first) {
			free(r);
			return -ENOMEM;
		}
		m->first = first;
		m->cap = cap;
	}
	memmove(m->runs + at + 1, m->runs + at, (m->count - at) * sizeof(*m->runs));
	memmove(m->first + at + 1, m->first + at, (m->count - at) * sizeof(*m->first));
	r->used = 0;
	for (unsigned i = 0; i < MZ_RUN_MAX; i++)
		r->place[i] = (uint8_t)i;
	m->runs[at] = r;
	m->first[at] = 0;
	m->count++;
	return 0;
}

/* A run without entries is dropped at once: the search for a neighbour takes the next run and
 * expects an entry in it. */
static void drop_run(struct mz_sorted_map *m, size_t at)
{
	free(m->runs[at]);
	m->count--;
	memmove(m->runs + at, m->runs + at + 1, (m->count - at) * sizeof(*m->runs));
	memmove(m->first + at, m->first + at + 1, (m->count - at) * sizeof(*m->first));
}

/* The first free place becomes that of slot i. */
static void open_slot(struct mz_run *r, size_t i)
{
	uint8_t place = r->place[r->used];

	memmove(r->key + i + 1, r->key + i, (r->used - i) * sizeof(*r->key));
	memmove(r->place + i + 1, r->place + i, r->used - i);
	r->place[i] = place;
	r->used++;
}

/* Its place becomes the first free one. */
static void close_slot(struct mz_run *r, size_t i)
{
	uint8_t place = r->place[i];

	r->used--;
	memmove(r->key + i, r->key + i + 1, (r->used - i) * sizeof(*r->key));
	memmove(r->place + i, r->place + i + 1, r->used - i);
	r->place[r->used] = place;
}

/* The entries of one run from slot f on go behind those of another, where there must be room. The
 * places of both runs are in use in different orders, so what belongs to the keys is copied one by
 * one. */
static void append(struct mz_run *to, struct mz_run *from, size_t f)
{
	for (size_t i = f; i < from->used; i++) {
		to->key[to->used] = from->key[i];
		to->rest[to->place[to->used++]] = from->rest[from->place[i]];
	}
	from->used = f;
}

/* at still names the place of the new entry afterwards, which may now be in the second run. */
static int split(struct mz_sorted_map *m, struct mz_map_pos *at)
{
	struct mz_run *low, *high;
	size_t half = MZ_RUN_MAX / 2;

	/* growing at the end is what fresh addresses do: leave the run full */
	if (at->run == m->count - 1 && at->slot == MZ_RUN_MAX)
		half = MZ_RUN_MAX - 1;
	if (add_run(m, at->run + 1) < 0)
		return -ENOMEM;
	low = m->runs[at->run];
	high = m->runs[at->run + 1];
	append(high, low, half);
	m->first[at->run + 1] = high->key[0];
	if (at->slot > half) {
		at->run++;
		at->slot -= half;
	}
	return 0;
}

int mz_sorted_map_insert(struct mz_sorted_map *m, struct mz_map_pos *at, struct mz_entry e)
{
	struct mz_run *r;
	uint8_t place;

	if (!m->count && add_run(m, 0) < 0)
		return -ENOMEM;
	if (m->runs[at->run]->used == MZ_RUN_MAX && split(m, at) < 0)
		return -ENOMEM;
	r = m->runs[at->run];
	open_slot(r, at->slot);
	place = r->place[at->slot];
	r->key[at->slot] = e.key;
	r->rest[place].value = e.value;
	r->rest[place].extra = e.extra;
	m->first[at->run] = r->key[0];
	m->entries++;
	return 0;
}

/* Keep runs from becoming many and small. Two runs become one if that one is at most half full: a
 * fuller one would soon be split again. */
static void merge(struct mz_sorted_map *m, size_t run)
{
	struct mz_run *a, *b;

	if (run + 1 >= m->count)
		return;
	a = m->runs[run];
	b = m->runs[run + 1];
	if (a->used + b->used > MZ_RUN_MAX / 2)
		return;
	append(a, b, 0);
	drop_run(m, run + 1);
}

void mz_sorted_map_remove(struct mz_sorted_map *m, struct mz_map_pos at)
{
	struct mz_run *r = m->runs[at.run];

	m->entries--;
	close_slot(r, at.slot);
	if (!r->used) {
		drop_run(m, at.run);
		return;
	}
	m->first[at.run] = r->key[0];
	/* the bound is well below that of merge(), so that an entry that comes and goes moves no
	 * others */
	if (r->used < MZ_RUN_MAX / 4) {
		merge(m, at.run);
		if (at.run)
			merge(m, at.run - 1);
	}
}

bool mz_sorted_map_prev(const struct mz_sorted_map *m, struct mz_map_pos at, struct mz_entry *e)
{
	if (at.slot) {
		at.slot--;
	} else {
		if (!at.run)
			return false;
		at.run--;
		at.slot = m->runs[at.run]->used - 1;
	}
	*e = mz_sorted_map_at(m, at);
	return true;
}

bool mz_sorted_map_next(const struct mz_sorted_map *m, struct mz_map_pos at, struct mz_entry *e)
{
	if (++at.slot == m->runs[at.run]->used) {
		if (++at.run == m->count)
			return false;
		at.slot = 0;
	}
	*e = mz_sorted_map_at(m, at);
	return true;
}
