// SPDX-License-Identifier: BSD-2-Clause
/* Average the live bytes of each class over time, as the published scripts do. */
/*
 * The interval between two events counts with the bytes that are live after the second one, and
 * intervals without live bytes do not count. The true average would take the bytes before the
 * second event; but figures that are compared must be computed in the same way.
 */
#include "analysis/kmap_sizes.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct size_change {
	uint64_t time;
	int64_t bytes;
};

static int by_time(const void *a, const void *b)
{
	const struct size_change *x = a, *y = b;

	return MZ_ORDER(x->time, y->time);
}

/* Most maps are in the order of allocation, so sorting is often unnecessary. */
static void sort(struct size_change *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (e[i].time >= e[i - 1].time)
			continue;
		qsort(e, n, sizeof(*e), by_time);
		return;
	}
}

/* Rounded to a tenth, then truncated, with the same binary fractions as those scripts. */
static uint64_t cut(double average)
{
	char text[64];

	snprintf(text, sizeof(text), "%.1f", average);
	return strtoull(text, NULL, 10);
}

/* allocs and frees: sorted by time, n of each; as one sequence. */
static bool average(const struct size_change *allocs, const struct size_change *frees, size_t n,
		    uint64_t *size)
{
	unsigned __int128 weighted = 0;
	uint64_t steps = 0, last = 0;
	int64_t live = 0;
	size_t a = 0, f = 0;

	while (a < n || f < n) {
		uint64_t t = a < n && (f == n || allocs[a].time < frees[f].time) ? allocs[a].time
										 : frees[f].time;

		for (; a < n && allocs[a].time == t; a++)
			live += allocs[a].bytes;
		for (; f < n && frees[f].time == t; f++)
			live -= frees[f].bytes;
		if (last && live > 0) {
			weighted += (unsigned __int128)(t - last) * (uint64_t)live;
			steps += t - last;
		}
		last = t;
	}
	if (!steps)
		return false;
	*size = cut((double)weighted / (double)steps);
	return true;
}

static uint64_t largest(const struct size_change *e, size_t n)
{
	int64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = e[i].bytes > most ? e[i].bytes : most;
	return (uint64_t)most;
}

/* A class is averaged, or takes its largest object if no time passed. */
static void set_size(struct mz_union_object *o, struct size_change *allocs,
		     struct size_change *frees, size_t n)
{
	sort(allocs, n);
	sort(frees, n);
	if (!average(allocs, frees, n, &o->now))
		o->now = largest(allocs, n);
}

static bool counts(const struct mz_kmap_life *l, const uint32_t *of, const bool *timed)
{
	return of[l->class] != MZ_PAIR_INDEX_NONE && timed[l->class] && l->size <= INT64_MAX >> 24;
}

/* A counting sort by class. at: where the lives of each class begin, and end at the next. */
int mz_union_live_sizes(struct mz_union *u, const struct mz_kmap_model *m, const uint32_t *of,
			const bool *timed)
{
	size_t n = u->n_objects, room = m->n_lives ? m->n_lives : 1;
	size_t *at = calloc(n + 2, sizeof(*at));
	struct size_change *allocs = malloc(room * sizeof(*allocs));
	struct size_change *frees = malloc(room * sizeof(*frees));

	for (size_t i = 0; at && i < m->n_lives; i++)
		if (counts(&m->lives[i], of, timed))
			at[of[m->lives[i].class] + 2]++;
	for (size_t i = 2; at && i <= n + 1; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; at && allocs && frees && i < m->n_lives; i++) {
		const struct mz_kmap_life *l = &m->lives[i];
		size_t to;

		if (!counts(l, of, timed))
			continue;
		to = at[of[l->class] + 1]++;
		allocs[to] = (struct size_change){l->from, (int64_t)l->size};
		frees[to] = (struct size_change){l->to, (int64_t)l->size};
	}
	for (size_t i = 0; at && allocs && frees && i < n; i++)
		if (at[i + 1] > at[i])
			set_size(&u->objects[i], allocs + at[i], frees + at[i], at[i + 1] - at[i]);
	room = at && allocs && frees;
	free(at);
	free(allocs);
	free(frees);
	return room ? 0 : -ENOMEM;
}
