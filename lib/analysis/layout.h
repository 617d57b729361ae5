/* SPDX-License-Identifier: BSD-2-Clause */
/* Where blocks are: their neighbours, the gaps between them, the pages that they take. */
#ifndef MZ_ANALYSIS_LAYOUT_H
#define MZ_ANALYSIS_LAYOUT_H

#include <memorizer.h>

#include "analysis/timeline.h"
#include "base/histogram.h"
#include "base/sorted_map.h"

#define MZ_PAGE 4096

/* A block among its neighbours, while it is live. */
struct mz_spot {
	uint64_t addr, size;
	uint64_t prev, next;	    /* 0 = none */
	int64_t prev_gap, next_gap; /* -1 = no neighbour */
	uint64_t first_page, last_page;
	uint64_t pages; /* that no neighbour shares: how many it adds or takes away */
	uint64_t born;
};

#define MZ_LAYOUT_POINTS 64 /* of the timeline */

struct mz_layout {
	struct mz_sorted_map blocks; /* address -> size, birth */
	uint64_t live_bytes, pages;
	uint64_t peak_bytes, peak_bytes_at;
	uint64_t peak_pages, peak_pages_at, live_at_peak_pages;
	uint64_t unknown, over_live, overlaps, no_effect, lost;
	uint64_t lost_by[MZ_LOSSES];
	struct mz_histogram gaps; /* to the previous block, at each allocation */
	struct mz_timeline time;  /* bytes and pages at the first of each run of events */
	uint64_t events;
};

struct mz_layout *mz_layout_new(void);
void mz_layout_free(struct mz_layout *l);

struct mz_layout_step {
	bool went, came;
	bool unknown;
	bool over_live; /* the block that was there is replaced */
	struct mz_spot old, new;
};

/* Apply the next event, which must have addresses. 0 or -ENOMEM. */
int mz_layout_add(struct mz_layout *l, const struct mz_event *ev, uint64_t now,
		  struct mz_layout_step *step);

/* Share of the pages in use that no live block covers, from 0 to 1. */
double mz_layout_fragmentation(uint64_t live_bytes, uint64_t pages);

#endif
