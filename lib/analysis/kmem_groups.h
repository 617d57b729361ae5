/* SPDX-License-Identifier: BSD-2-Clause */
/* What the pass over a kernel trace keeps: counters of groups (a call site, a cache), findings,
 * the worst single allocations, and shapes. */
#ifndef MZ_ANALYSIS_KMEM_GROUPS_H
#define MZ_ANALYSIS_KMEM_GROUPS_H

#include <errno.h>
#include <stdlib.h>

#include "analysis/kmem.h"

extern const uint8_t mz_kmem_allocators[256]; /* of each call: enum mz_kmem_allocator */

/* The lifetime's place in a histogram: 8 to a doubling. */
static inline unsigned kmem_bucket(uint64_t ns)
{
	unsigned log;

	if (ns < 8)
		return (unsigned)ns;
	log = 63 - (unsigned)__builtin_clzll(ns);
	log = (log - 2) * 8 + (unsigned)(ns >> (log - 3) & 7);
	return log < MZ_KMEM_BUCKETS ? log : MZ_KMEM_BUCKETS - 1;
}

static inline void kmem_group_peak(struct mz_kmem_group *g, uint32_t given)
{
	g->live++;
	g->live_given += given;
	if (g->live_given > g->peak_given)
		g->peak_given = g->live_given;
	if (g->live > g->peak_live)
		g->peak_live = g->live;
}

static inline void kmem_group_alloc(struct mz_kmem_group *g, uint32_t req, uint32_t given)
{
	g->allocs++;
	g->req += req;
	g->given += given;
	g->live_req += req;
	kmem_group_peak(g, given);
}

/* A block of the group has ended. */
static inline void kmem_group_end(struct mz_kmem_group *g, const struct mz_kmem_block *b)
{
	g->live--;
	g->live_req -= b->req;
	g->live_given -= b->given;
}

/* The same for a free that was seen, so that the lifetime is known. */
static inline int kmem_group_free(struct mz_kmem_group *g, const struct mz_kmem_block *b,
				  unsigned life)
{
	kmem_group_end(g, b);
	g->ended++;
	g->freed_given += b->given;
	if (__builtin_expect(!g->lifetimes, 0)) {
		g->lifetimes = calloc(MZ_KMEM_BUCKETS, sizeof(*g->lifetimes));
		if (!g->lifetimes)
			return -ENOMEM;
	}
	g->lifetimes[life]++;
	return 0;
}

int mz_kmem_grow_groups(struct mz_kmem_group **g, uint32_t *n, uint32_t need);
/* Computes the sums of the allocators and of everything from those of the caches. The pass does not
 * keep them, because they follow from these. */
int mz_kmem_sum_up(struct mz_kmem_report *r);

int mz_kmem_find(struct mz_kmem_report *r, struct mz_kmem_finding f);

/* The worst single allocations, a heap: how bad is one? */
static inline uint64_t kmem_worth(const struct mz_kmem_block *b)
{
	uint64_t waste = b->given > b->req ? b->given - b->req : 0;

	return waste << 32 | b->given;
}

int mz_kmem_add_one(struct mz_kmem_report *r, const struct mz_kmem_block *b, uint64_t died,
		    int16_t cpu);

static inline int kmem_keep_one(struct mz_kmem_report *r, const struct mz_kmem_block *b,
				uint64_t died, int16_t cpu)
{
	if (r->nones == r->filter.ones && r->nones &&
	    kmem_worth(b) <= kmem_worth(&r->ones[0].block))
		return 0;
	return mz_kmem_add_one(r, b, died, cpu);
}

int64_t mz_kmem_shape_number(struct mz_kmem_report *r, uint32_t site, uint32_t req, uint32_t given);

#endif
