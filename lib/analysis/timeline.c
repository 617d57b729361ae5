// SPDX-License-Identifier: BSD-2-Clause
/* Keep live bytes over time in fixed memory. */
#include "analysis/timeline.h"

#include <string.h>

void mz_timeline_init(struct mz_timeline *t, unsigned room)
{
	*t = (struct mz_timeline){.width = 1, .run_room = 1, .room = room};
}

/* ---- levels ------------------------------------------------------------------------- */

/* Two bins become one: what is live at the end is that of the second. */
static void join_levels(struct mz_timeline *t)
{
	for (unsigned i = 0; i < t->room / 2; i++) {
		const struct mz_timeline_bin *a = &t->bins[2 * i], *b = a + 1;
		uint64_t high = a->high > b->high ? a->high : b->high;

		t->bins[i] = (struct mz_timeline_bin){
			.live = b->live, .high = high, .blocks = b->blocks};
	}
	t->used = t->room / 2;
	t->width *= 2;
}

static void fill(struct mz_timeline *t, uint64_t bins, uint64_t live, uint64_t blocks)
{
	while (t->used < bins)
		t->bins[t->used++] =
			(struct mz_timeline_bin){.live = live, .high = live, .blocks = blocks};
}

static struct mz_timeline_bin *new_bin(struct mz_timeline *t, uint64_t live, uint64_t blocks)
{
	uint64_t at;

	while ((at = (t->now - t->first) / t->width) >= t->room) {
		fill(t, t->room, live, blocks); /* all of them, so that joining finds pairs */
		join_levels(t);
	}
	fill(t, at + 1, live, blocks);
	t->span = t->used * t->width; /* 0 if the bins cover the whole clock: then always checked */
	return &t->bins[at];
}

/* The clock does not go back: until the last bin ends, it is the one. */
static inline struct mz_timeline_bin *bin_of(struct mz_timeline *t, uint64_t live, uint64_t blocks)
{
	return t->now - t->first < t->span ? &t->bins[t->used - 1] : new_bin(t, live, blocks);
}

void mz_timeline_tick(struct mz_timeline *t, uint64_t now, uint64_t live, uint64_t blocks)
{
	if (!t->begun) {
		t->begun = true;
		t->first = t->now = now;
	}
	if (now > t->now)
		t->now = now;
	bin_of(t, live, blocks);
}

void mz_timeline_set(struct mz_timeline *t, uint64_t live, uint64_t blocks)
{
	struct mz_timeline_bin *b = bin_of(t, live, blocks);

	b->live = live;
	b->blocks = blocks;
	if (live > b->high)
		b->high = live;
}

/* ---- changes ------------------------------------------------------------------------ */

/* Bins start at multiples of the width, so that a later change of the start does not split the
 * contents of a bin. */
static void join_changes(struct mz_timeline *t)
{
	uint64_t first = t->first / t->width;

	for (unsigned i = 0; i < t->room; i++) {
		unsigned at = (unsigned)((first + i) / 2 - first / 2);
		struct mz_timeline_bin b = t->bins[i];

		t->bins[i] = (struct mz_timeline_bin){0};
		t->bins[at].change += b.change;
		t->bins[at].blocks_change += b.blocks_change;
	}
	t->width *= 2;
	t->first = first / 2 * t->width;
}

/* The bins begin earlier, if the last ones are not in use. */
static bool begin_earlier(struct mz_timeline *t, uint64_t when)
{
	uint64_t first = when / t->width * t->width;
	uint64_t by = (t->first - first) / t->width;

	if ((t->now - first) / t->width >= t->room)
		return false;
	memmove(t->bins + by, t->bins, (t->room - by) * sizeof(*t->bins));
	memset(t->bins, 0, by * sizeof(*t->bins));
	t->first = first;
	return true;
}

/* Unsigned numbers wrap as differences need. */
void mz_timeline_change(struct mz_timeline *t, uint64_t when, int64_t bytes, int64_t blocks)
{
	struct mz_timeline_bin *b;

	if (!t->begun) {
		t->begun = true;
		t->first = t->now = when;
	}
	while (when < t->first && !begin_earlier(t, when))
		join_changes(t);
	while ((when - t->first) / t->width >= t->room)
		join_changes(t);
	if (when > t->now)
		t->now = when;
	b = &t->bins[(when - t->first) / t->width];
	b->change += (uint64_t)bytes;
	b->blocks_change += (uint64_t)blocks;
}

void mz_timeline_sum(struct mz_timeline *t, uint64_t bytes, uint64_t blocks)
{
	if (!t->begun)
		return;
	t->used = (unsigned)((t->now - t->first) / t->width) + 1;
	for (unsigned i = 0; i < t->used; i++) {
		bytes += t->bins[i].change;
		blocks += t->bins[i].blocks_change;
		t->bins[i].live = bytes;
		t->bins[i].blocks = blocks;
	}
}

/* ---- runs of events ----------------------------------------------------------------- */

static void join_runs(struct mz_timeline *t, enum mz_timeline_keep keep)
{
	for (unsigned i = 0; i < t->room / 2; i++) {
		const struct mz_timeline_bin *a = &t->bins[2 * i], *b = a + 1;

		t->bins[i] = keep == MZ_TIMELINE_FIRST || a->live >= b->live ? *a : *b;
	}
	t->used = t->room / 2;
	t->run_room *= 2;
}

void mz_timeline_keep(struct mz_timeline *t, const struct mz_timeline_bin *now,
		      enum mz_timeline_keep keep)
{
	if (t->run == t->run_room || !t->used) {
		if (t->used == t->room)
			join_runs(t, keep);
		t->bins[t->used++] = *now;
		t->run = 0;
	} else {
		t->bins[t->used - 1] = *now;
	}
	t->run++;
}
