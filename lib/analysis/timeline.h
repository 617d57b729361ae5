/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the live bytes went over time, and how large and how old blocks became:
 * what a picture of a trace needs, in memory that does not grow with the trace.
 */
#ifndef MZ_ANALYSIS_TIMELINE_H
#define MZ_ANALYSIS_TIMELINE_H

#include "analysis/address_heatmap.h"
#include "base/histogram.h"

#define MZ_TIMELINE_BINS 1024

/* A stretch of time: the live bytes at its end, and the most within it. */
struct mz_timeline_bin {
	uint64_t live;
	uint64_t high;
	uint64_t blocks; /* at its end */
};

struct mz_timeline {
	uint64_t first, now; /* the clock: ns, or the number of the event */
	uint64_t width;	     /* of a bin */
	unsigned used;
	bool begun;
	struct mz_timeline_bin bins[MZ_TIMELINE_BINS];
	struct mz_histogram sizes; /* of all blocks */
	struct mz_histogram ages;  /* of those whose end was seen */
	struct mz_heatmap space;
};

struct mz_timeline *mz_timeline_new(void);
void mz_timeline_free(struct mz_timeline *c);

/* The clock goes on, with what is live until then. It never goes back. */
void mz_timeline_tick(struct mz_timeline *c, uint64_t now, uint64_t live, uint64_t blocks);
/* A block came; a block went (seen: we know that it was now). addr 0 = not known. */
void mz_timeline_came(struct mz_timeline *c, uint64_t addr, uint64_t size, uint64_t live,
		      uint64_t blocks);
void mz_timeline_went(struct mz_timeline *c, uint64_t addr, uint64_t size, uint64_t born, bool seen,
		      uint64_t live, uint64_t blocks);

#endif
