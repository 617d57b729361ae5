/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The history of a heap: its timeline, the sizes and ages of its blocks and where they
 * lay. That is what a picture of a trace needs, in memory that does not grow with the trace.
 */
#ifndef MZ_ANALYSIS_HISTORY_H
#define MZ_ANALYSIS_HISTORY_H

#include "analysis/address_heatmap.h"
#include "analysis/timeline.h"
#include "base/histogram.h"

#define MZ_HISTORY_BINS 1024

struct mz_history {
	struct mz_timeline time;
	struct mz_histogram sizes; /* of all blocks */
	struct mz_histogram ages;  /* of those whose end was seen */
	struct mz_heatmap space;
};

struct mz_history *mz_history_new(void);
void mz_history_free(struct mz_history *h);

/* The clock moves on, with what is live until then. It never goes back. */
void mz_history_tick(struct mz_history *h, uint64_t now, uint64_t live, uint64_t blocks);
/* Blocks of one size came or went (seen: it is known that it was now). addr 0 = not known. */
void mz_history_came(struct mz_history *h, uint64_t addr, uint64_t size, uint64_t count,
		     uint64_t live, uint64_t blocks);
void mz_history_went(struct mz_history *h, uint64_t addr, uint64_t size, uint64_t count,
		     uint64_t born, bool seen, uint64_t live, uint64_t blocks);

#endif
