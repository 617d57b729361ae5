/* SPDX-License-Identifier: BSD-2-Clause */
/* Live bytes over time, in a fixed number of bins. */
/*
 * When there are too few, pairs of bins become one, and each bin covers twice as much. Bins are
 * filled in one of three ways: by levels, as a clock moves on; by changes, in any order; by runs of
 * equally many events.
 */
#ifndef MZ_ANALYSIS_TIMELINE_H
#define MZ_ANALYSIS_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#define MZ_TIMELINE_BINS 2048 /* at most */

/* The values that a recording does not have are 0. */
struct mz_timeline_bin {
	uint64_t at; /* runs of events: the moment that the other values belong to */
	union {
		uint64_t live;	 /* bytes at the end of the bin; runs of events: at that moment */
		uint64_t change; /* changes: of live, until they are summed up */
	};
	uint64_t high; /* levels: the most bytes within the bin */
	union {
		uint64_t blocks;
		uint64_t blocks_change; /* changes: of blocks, until they are summed up */
	};
	uint64_t waste;
	uint64_t pages;
};

struct mz_timeline {
	uint64_t first, now; /* the clock: ns, or the number of the event */
	uint64_t width;	     /* of a bin, in units of the clock */
	uint64_t span;	     /* levels: of all bins in use, in units of the clock */
	uint64_t run_room;   /* runs: events of a bin that is full */
	uint64_t run;	     /* runs: events in the last bin */
	unsigned room, used; /* bins */
	bool begun;
	struct mz_timeline_bin bins[MZ_TIMELINE_BINS];
};

/* room: a power of two, at most MZ_TIMELINE_BINS. */
void mz_timeline_init(struct mz_timeline *t, unsigned room);

/* Levels. The clock moves on, and what was live stayed so until then; a clock that goes
 * back stands still. Then, what is live at that time. */
void mz_timeline_tick(struct mz_timeline *t, uint64_t now, uint64_t live, uint64_t blocks);
void mz_timeline_set(struct mz_timeline *t, uint64_t live, uint64_t blocks);

/* Changes, in any order of time. mz_timeline_sum ends them: it turns them into levels,
 * on top of what was live all the time. */
void mz_timeline_change(struct mz_timeline *t, uint64_t when, int64_t bytes, int64_t blocks);
void mz_timeline_sum(struct mz_timeline *t, uint64_t bytes, uint64_t blocks);

/* Runs of events. Of each run one moment stays: its highest, or its first. */
enum mz_timeline_keep { MZ_TIMELINE_HIGHEST, MZ_TIMELINE_FIRST };
/* The event begins a run, or is the moment that stays. */
void mz_timeline_keep(struct mz_timeline *t, const struct mz_timeline_bin *now,
		      enum mz_timeline_keep keep);

/* Most events are neither: they are only counted. */
static inline void mz_timeline_event(struct mz_timeline *t, const struct mz_timeline_bin *now,
				     enum mz_timeline_keep keep)
{
	if (t->used && t->run < t->run_room &&
	    (keep == MZ_TIMELINE_FIRST || now->live <= t->bins[t->used - 1].live))
		t->run++;
	else
		mz_timeline_keep(t, now, keep);
}

#endif
