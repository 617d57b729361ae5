/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the live bytes went over time, and how large and how old blocks became:
 * what a picture of a trace needs, in memory that does not grow with the trace.
 */
#ifndef MZ_ANALYSIS_COURSE_H
#define MZ_ANALYSIS_COURSE_H

#include "analysis/space.h"
#include "base/histogram.h"

#define MZ_COURSE_BINS 1024

/* A stretch of time: the live bytes at its end, and the most within it. */
struct mz_course_bin {
	uint64_t live;
	uint64_t high;
	uint64_t blocks; /* at its end */
};

struct mz_course {
	uint64_t first, now; /* the clock: ns, or the number of the event */
	uint64_t width;	     /* of a bin */
	unsigned used;
	bool begun;
	struct mz_course_bin bins[MZ_COURSE_BINS];
	struct mz_histogram sizes; /* of all blocks */
	struct mz_histogram ages;  /* of those whose end was seen */
	struct mz_space space;
};

struct mz_course *mz_course_new(void);
void mz_course_free(struct mz_course *c);

/* The clock goes on, with what is live until then. It never goes back. */
void mz_course_tick(struct mz_course *c, uint64_t now, uint64_t live, uint64_t blocks);
/* A block came; a block went (seen: we know that it was now). addr 0 = not known. */
void mz_course_came(struct mz_course *c, uint64_t addr, uint64_t size, uint64_t live,
		    uint64_t blocks);
void mz_course_went(struct mz_course *c, uint64_t addr, uint64_t size, uint64_t born, bool seen,
		    uint64_t live, uint64_t blocks);

#endif
