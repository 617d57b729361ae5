/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks of a kernel trace by address, including freed ones, and what is known about their
 * pages. */
#ifndef MZ_ANALYSIS_KMEM_LIVE_H
#define MZ_ANALYSIS_KMEM_LIVE_H

#include "analysis/kmem.h"
#include "base/u64_table.h"

enum kmem_state {
	KMEM_LIVE = 1,
	KMEM_FREED,
	KMEM_IGNORED, /* live, but not chosen by the filter */
	KMEM_GONE,    /* was IGNORED */
};

struct kmem_page {
	uint64_t since; /* when the cache became this one */
	uint32_t cache;
	uint32_t unused;
};

struct mz_kmem_live {
	/* Pages and objects in them have the same address: one table per allocator. */
	struct mz_u64_table blocks[MZ_KMEM_ALLOCATORS];
	struct kmem_page *pages; /* from 1; a block keeps the number of its own */
	size_t cap_pages;
	struct mz_pair_index page_index; /* page -> its number - 1 */
	uint64_t *matrix;		 /* [alloc * cpus + free] */
	unsigned cpus;
	bool no_matrix; /* no memory for it */
	size_t open_gaps;
	struct mz_u64_table gaps; /* CPU -> the newest of its open gaps */
	size_t *older;		  /* of each gap: the one of its CPU before it, + 1 */
	size_t cap_older;
	uint8_t *chosen; /* sites: 0 not looked up yet, 1 no, 2 yes */
	size_t cap_chosen;
};

struct mz_kmem_live *mz_kmem_live_new(void);
void mz_kmem_live_free(struct mz_kmem_live *l);

/* A gap of the CPU begins; negative: of all. 0 or -ENOMEM. */
int mz_kmem_live_open_gap(struct mz_kmem_live *l, int cpu, size_t gap);
/* The newest open gap of the CPU + 1, the others by older; closes all of them. 0 = none. */
size_t mz_kmem_live_take_gaps(struct mz_kmem_live *l, int cpu);

/* The block at the address, in any state, or NULL. */
static inline struct mz_kmem_block *mz_kmem_live_find(const struct mz_kmem_live *l, uint64_t addr,
						      uint8_t of)
{
	struct mz_kmem_block *b = addr ? mz_u64_table_find(&l->blocks[of], addr, sizeof(*b)) : NULL;

	return b && b->state ? b : NULL;
}

/* Before a large table grows, blocks that were freed long ago are removed. 0 or -ENOMEM. */
int mz_kmem_live_sweep(struct mz_u64_table *t, uint64_t now);

/* A block that is missing is added (state 0); NULL = no memory. May move blocks. */
static inline struct mz_kmem_block *mz_kmem_live_get(struct mz_kmem_live *l, uint64_t addr,
						     uint8_t of, uint64_t now)
{
	struct mz_u64_table *t = &l->blocks[of];
	struct mz_kmem_block *b;
	bool fresh;

	if (mz_u64_table_full(t) && mz_kmem_live_sweep(t, now) < 0)
		return NULL;
	b = mz_u64_table_insert(t, addr, sizeof(*b), &fresh);
	if (b && fresh)
		b->of = of;
	return b;
}

/* The address will be looked up soon. */
static inline void mz_kmem_live_prefetch(const struct mz_kmem_live *l, uint64_t addr, uint8_t of)
{
	mz_u64_table_prefetch(&l->blocks[of], addr, sizeof(struct mz_kmem_block));
}

/* All blocks, in no particular order: *at begins with 0. NULL = the end. */
struct mz_kmem_block *mz_kmem_live_next(const struct mz_kmem_live *l, size_t *at);

/* The number of the page of an address; 0 = not known, and with make: no memory. */
uint32_t mz_kmem_live_page(struct mz_kmem_live *l, uint64_t addr, bool make);

/* An object of the cache was seen in this page. */
static inline void mz_kmem_live_seen(struct mz_kmem_live *l, uint32_t page, uint32_t cache,
				     uint64_t now)
{
	struct kmem_page *p = &l->pages[page];

	if (p->cache != cache) {
		p->cache = cache;
		p->since = now;
	}
}

/* Was the page seen with another cache since? Then it was freed in between. */
bool mz_kmem_live_recycled(const struct mz_kmem_live *l, uint64_t addr, uint32_t cache,
			   uint64_t since);

/* Room for more CPUs; false = there is none, or too many. */
bool mz_kmem_live_room(struct mz_kmem_live *l, unsigned cpus);

static inline void mz_kmem_live_matrix(struct mz_kmem_live *l, unsigned a, unsigned f)
{
	unsigned most = a > f ? a : f;

	if (most < l->cpus || mz_kmem_live_room(l, most + 1))
		l->matrix[(size_t)a * l->cpus + f]++;
}

/* The matrices of CPUs and of nodes into the report. */
int mz_kmem_live_matrices(struct mz_kmem_live *l, struct mz_kmem_report *r);

#endif
