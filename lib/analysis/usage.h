/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program did with its heap, in one pass: totals, the peak, what was
 * never freed, what lived only for a moment; in all and by call site. Memory
 * grows with the live blocks and the sites.
 */
#ifndef MZ_ANALYSIS_USAGE_H
#define MZ_ANALYSIS_USAGE_H

#include "trace/live.h"

struct mz_history;

struct mz_usage_site {
	uint64_t allocs;    /* blocks that it made; a realloc makes a block */
	uint64_t bytes;	    /* requested, in total */
	uint64_t waste;	    /* given beyond the request, in total */
	uint64_t temporary; /* blocks that its thread freed before its next allocation */
	uint64_t live;	    /* bytes, now: at the end, what was never freed */
	uint64_t live_blocks;
	uint64_t at_peak; /* bytes that were live at the peak of the program */
	uint64_t peak_blocks;
	uint64_t peak_waste;
	uint64_t max_bytes; /* the site's own peak, and its blocks then */
	uint64_t max_blocks;
	uint64_t lifetime;	/* of its blocks, added up; the live ones up to the end */
	uint64_t reads, writes; /* of its blocks, where the trace counts them */
	uint64_t epoch;		/* of the peak that at_peak belongs to */
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
	struct mz_usage_site all;    /* the program as one site; at_peak is its peak */
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
	struct mz_live tids;	 /* tid + 1: born = number, size = allocations */
	struct mz_block *thread; /* the row of tids that was used last, or NULL */
	uint64_t epoch;
};

int mz_usage_init(struct mz_usage *u);
void mz_usage_deinit(struct mz_usage *u);

/* The next event of the trace; objects need not be set where there are
 * addresses. 0 or -ENOMEM. */
int mz_usage_add(struct mz_usage *u, const struct mz_event *ev);

/* Adds the sums of one site to those of another, of another program perhaps. The own peaks
 * of sites were at different times and are not added. */
void mz_usage_site_sum(struct mz_usage_site *to, const struct mz_usage_site *from);
/* The numbers of the threads of thread_sums, as the trace has them; the caller frees them. NULL =
 * no memory. */
uint64_t *mz_usage_tids(const struct mz_usage *u);

/* After the last event: brings the peaks and lifetimes of all sites up to date. */
void mz_usage_end(struct mz_usage *u);

#endif
