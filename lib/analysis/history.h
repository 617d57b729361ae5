/* SPDX-License-Identifier: BSD-2-Clause */
/* The history of a heap: its timeline, and the sizes, ages and addresses of its blocks. */
/* A picture of a trace needs these, in memory that does not grow with the trace. */
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

/* Moves the clock on, with what is live until then. It never goes back. */
void mz_history_tick(struct mz_history *h, uint64_t now, uint64_t live, uint64_t blocks);
/* Blocks of one size were allocated or freed (seen: they are known to have been freed now). addr
 * 0 = unknown. */
void mz_history_came(struct mz_history *h, uint64_t addr, uint64_t size, uint64_t count,
		     uint64_t live, uint64_t blocks);
void mz_history_went(struct mz_history *h, uint64_t addr, uint64_t size, uint64_t count,
		     uint64_t born, bool seen, uint64_t live, uint64_t blocks);

#endif
