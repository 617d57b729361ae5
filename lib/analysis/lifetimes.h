/* SPDX-License-Identifier: BSD-2-Clause */
/* How long blocks live: from their allocation to their free. */
#ifndef MZ_ANALYSIS_LIFETIMES_H
#define MZ_ANALYSIS_LIFETIMES_H

#include "base/histogram.h"
#include "trace/live.h"

struct mz_lifetimes {
	struct mz_live live;
	uint64_t events;
	uint64_t by_kind[MZ_KINDS];
	uint64_t blocks;    /* that were allocated */
	uint64_t bytes;	    /* requested, of all of them */
	uint64_t no_effect; /* free(NULL), failed calls */
	uint64_t lost;	    /* events, as the trace says */
	uint64_t lost_by[MZ_LOSSES];
	uint64_t live_bytes, peak_bytes, peak_at, peak_blocks;
	struct mz_histogram ages;  /* of the blocks that ended */
	struct mz_histogram sizes; /* of all blocks */
};

/* by_object: the events come from a resolved reader. 0 or -ENOMEM. */
struct mz_lifetimes *mz_lifetimes_new(bool by_object);
void mz_lifetimes_free(struct mz_lifetimes *l);

/* Apply the next event; now is its line or number. fx: what it did. */
int mz_lifetimes_add(struct mz_lifetimes *l, struct mz_event *ev, uint64_t now,
		     struct mz_effect *fx);

#endif
