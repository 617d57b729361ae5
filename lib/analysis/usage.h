/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program did with its heap, in one pass. */
/*
 * The answer is totals, the peak, what was never freed and what lived only for a moment, in all and
 * by call site. Memory grows with the live blocks and the sites.
 */
#ifndef MZ_ANALYSIS_USAGE_H
#define MZ_ANALYSIS_USAGE_H

#include <memorizer.h>

#include "analysis/heap_sum.h"
#include "base/u64_table.h"

struct mz_history;

/* A call site while its blocks are counted. */
struct mz_usage_site {
	struct mz_heap_sum sum;
	/* inside */
	uint64_t epoch; /* of the peak that sum.peak_* belong to */
	uint64_t live_waste;
};

struct mz_usage {
	uint64_t events;
	uint64_t calls[MZ_CALLS];
	uint64_t allocs, frees, reallocs; /* that had an effect */
	uint64_t failed;		  /* calls that failed */
	uint64_t null_frees;
	uint64_t unknown; /* frees of blocks that were never seen */
	uint64_t over_live;
	uint64_t lost, lost_by[MZ_LOSSES]; /* sampled ones are not lost: others stand for them */
	uint64_t first_time, last_time;
	uint64_t now; /* the clock of lifetimes: the last time, or the event's number */
	uint64_t peak_event, peak_time, peak_blocks;
	uint64_t threads;
	uint32_t fields;
	uint64_t stood_for, stood_for_bytes; /* of all, what is not in the trace itself */
	bool sampled; /* blocks stand for others: sums are estimates, temporary is not known */
	struct mz_usage_site all;    /* the program as one site; peak_bytes is its peak */
	struct mz_usage_site *sites; /* by number of the stack; 0 = not known */
	uint32_t sites_cap;
	bool by_cache;		      /* set by the caller before the first event: */
	struct mz_usage_site *caches; /* by number of the cache or pool; 0 = none */
	uint32_t caches_cap;
	bool by_thread;			   /* the same for threads: */
	struct mz_usage_site *thread_sums; /* in the order of their first allocation, from 1 */
	uint32_t thread_sums_cap;
	struct mz_history *history; /* the caller's; it gets all blocks. NULL = none */
	/* inside */
	struct mz_u64_table live; /* by address or object: number of the block */
	struct mz_usage_block *blocks;
	uint32_t blocks_cap, blocks_used, spare;
	struct mz_u64_table tids;	/* by tid + 1 */
	struct mz_usage_thread *thread; /* the one of tids that was used last, or NULL */
	uint64_t epoch;
};

int mz_usage_init(struct mz_usage *u);
void mz_usage_deinit(struct mz_usage *u);

/* The next event of the trace; objects need not be set where there are
 * addresses. 0 or -ENOMEM. */
int mz_usage_add(struct mz_usage *u, const struct mz_event *ev);

/* The numbers of the threads of thread_sums, as the trace has them; the caller frees them. NULL =
 * no memory. */
uint64_t *mz_usage_tids(const struct mz_usage *u);

/* After the last event: brings the peaks and lifetimes of all sites up to date. */
void mz_usage_end(struct mz_usage *u);

/* Adds what another recording did. Counts add up; times and places of the peaks are of one
 * recording each, and the sums of its sites stay its own. */
void mz_usage_merge(struct mz_usage *to, const struct mz_usage *u);

#endif
