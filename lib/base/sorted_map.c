// SPDX-License-Identifier: BSD-2-Clause
/* Keep keys in order as sorted runs, with lookup of neighbours. */
#include "base/sorted_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mz_sorted_map_deinit(struct mz_sorted_map *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->runs[i]);
	free(m->runs);
	free(m->first);
	*m = (struct mz_sorted_map){0};
}

/* How many of the n sorted keys are below key. */
static size_t below(const uint64_t *keys, size_t n, uint64_t key)
{
	const uint64_t *base = keys;

	/* a search without branches that a processor could guess wrong */
	while (n > 1) {
		size_t half = n / 2;

		base += base[half - 1] < key ? half : 0;
		n -= half;
	}
	return (size_t)(base - keys) + (n && *base < key);
}

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
	m->runs[at] = r;
	m->first[at] = 0;
	m->count++;
	return 0;
}

static void drop_run(struct mz_sorted_map *m, size_t at)
{
	free(m->runs[at]);
	m->count--;
	memmove(m->runs + at, m->runs + at + 1, (m->count - at) * sizeof(*m->runs));
	memmove(m->first + at, m->first + at + 1, (m->count - at) * sizeof(*m->first));
}

static void move(struct mz_run *to, size_t t, const struct mz_run *from, size_t f, size_t n)
{
	memmove(to->key + t, from->key + f, n * sizeof(uint64_t));
	memmove(to->value + t, from->value + f, n * sizeof(uint64_t));
	memmove(to->extra + t, from->extra + f, n * sizeof(uint64_t));
}

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
	move(high, 0, low, half, low->used - half);
	high->used = low->used - half;
	low->used = half;
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

	if (!m->count && add_run(m, 0) < 0)
		return -ENOMEM;
	if (m->runs[at->run]->used == MZ_RUN_MAX && split(m, at) < 0)
		return -ENOMEM;
	r = m->runs[at->run];
	move(r, at->slot + 1, r, at->slot, r->used - at->slot);
	r->key[at->slot] = e.key;
	r->value[at->slot] = e.value;
	r->extra[at->slot] = e.extra;
	r->used++;
	m->first[at->run] = r->key[0];
	m->entries++;
	return 0;
}

/* Keep runs from becoming many and small. */
static void merge(struct mz_sorted_map *m, size_t run)
{
	struct mz_run *a, *b;

	if (run + 1 >= m->count)
		return;
	a = m->runs[run];
	b = m->runs[run + 1];
	if (a->used + b->used > MZ_RUN_MAX / 2)
		return;
	move(a, a->used, b, 0, b->used);
	a->used += b->used;
	drop_run(m, run + 1);
}

void mz_sorted_map_remove(struct mz_sorted_map *m, struct mz_map_pos at)
{
	struct mz_run *r = m->runs[at.run];

	r->used--;
	m->entries--;
	move(r, at.slot, r, at.slot + 1, r->used - at.slot);
	if (!r->used) {
		drop_run(m, at.run);
		return;
	}
	m->first[at.run] = r->key[0];
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
