/* SPDX-License-Identifier: BSD-2-Clause */
/* From the events of a trace to the operations of a replay. */
#ifndef MZ_REPLAY_PLAN_H
#define MZ_REPLAY_PLAN_H

#include "base/u64_table.h"
#include "replay/op.h"
#include "trace/early_end.h"

/* What a trace holds, as seen by a replay. */
struct mz_plan_counts {
	uint64_t events;	/* all that were read */
	uint64_t unknown_frees; /* left out: frees of blocks that the trace never allocated */
	uint64_t unknown_olds;	/* reallocs of such blocks, replayed as allocations */
	uint64_t late_frees;	/* made up, where an address was given out again */
	uint64_t repaired;	/* frees that were seen too late, and put first */
	uint64_t not_calls;	/* left out: accesses, marks, mappings, losses */
	uint64_t lost;		/* events that the trace says it lost */
	uint64_t lost_by[MZ_LOSSES];
	struct mz_early_end end; /* of the trace, if it ends early */
	uint64_t live_bytes;	 /* requested, now and at most */
	uint64_t peak_bytes;
	uint64_t live_blocks;
	uint64_t peak_blocks;
};

/* A live block. */
struct mz_plan_block {
	uint64_t key; /* address, or object where there is none */
	uint64_t size;
	uint32_t slot;
};

struct mz_plan {
	struct mz_u64_table live; /* struct mz_plan_block */
	uint32_t *spare;	  /* a ring of slots that may be used again */
	size_t spare_cap, spare_at, spare_count;
	uint16_t *turns; /* of each slot */
	uint32_t slots;	 /* used so far */
	uint32_t slots_cap;
	bool oldest_first; /* use the slot that has been spare the longest: for threads */
	size_t rest;	   /* mz_plan_rest(): where it is in the table of blocks, plus 1 */
	uint64_t first_time;
	bool timed; /* first_time is set */
	struct mz_plan_counts counts;
};

int mz_plan_init(struct mz_plan *p, bool oldest_first);
void mz_plan_deinit(struct mz_plan *p);

/* The operations of an event, at most two: how many, or -ENOMEM. */
#define MZ_PLAN_OPS 2
int mz_plan_event(struct mz_plan *p, const struct mz_event *ev, struct mz_op *ops);

/* Frees of what is still live: up to max of them; 0 = all is freed. */
size_t mz_plan_rest(struct mz_plan *p, struct mz_op *ops, size_t max);

#endif
