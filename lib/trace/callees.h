/* SPDX-License-Identifier: BSD-2-Clause */
/* Which frames were called from which, in one block of a stack tree. */
/*
 * A frame that its caller has called before is stored as its place in the caller's list. A caller
 * is identified by its address; one from an earlier block has a list of its own.
 */
#ifndef MZ_TRACE_CALLEES_H
#define MZ_TRACE_CALLEES_H

#include "base/pair_index.h"

#define MZ_CALLEE_NONE UINT32_MAX

/* How a frame is stored; larger values are places in the list of its caller. */
enum mz_callee_code {
	MZ_CALLEE_NEW,	 /* an address that is not in the block yet */
	MZ_CALLEE_KNOWN, /* an address that this caller has not called yet */
	MZ_CALLEE_LISTED
};

/* An address, and what is called from there: places in the pool. */
struct mz_caller {
	uint64_t ip;
	uint32_t start, n, cap;
};

struct mz_callees {
	struct mz_caller *v;
	size_t n, cap;
	uint32_t *pool; /* the lists: numbers of callers */
	size_t used, cap_pool;
	struct mz_pair_index older; /* nodes of earlier blocks */
	uint32_t *older_caller;	    /* ... and what they are here */
	size_t cap_older;
	/* for writers: numbers by address, and places by caller and callee */
	struct mz_pair_index addresses, pairs;
	uint32_t *of_address, *place;
	size_t cap_of_address, cap_place;
};

void mz_callees_deinit(struct mz_callees *c);

/* A new address; its number, or MZ_CALLEE_NONE: no memory. */
uint32_t mz_callees_add(struct mz_callees *c, uint64_t ip);
/* The number of a node of an earlier block; it gets one when it first occurs. */
uint32_t mz_callees_older(struct mz_callees *c, uint32_t node);
/* Adds a member to the caller's list. 0 or -ENOMEM. */
int mz_callees_append(struct mz_callees *c, uint32_t caller, uint32_t callee);

static inline uint32_t mz_callees_listed(const struct mz_callees *c, uint32_t caller, uint64_t at)
{
	return at < c->v[caller].n ? c->pool[c->v[caller].start + at] : MZ_CALLEE_NONE;
}

/* How an address is stored below a caller, in *code. Returns its number, or MZ_CALLEE_NONE. */
uint32_t mz_callees_tell(struct mz_callees *c, uint32_t caller, uint64_t ip, uint64_t *code);

#endif
