/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks of a kernel trace by address, the freed ones too, and what is
 * known of the pages they lie in. */
#ifndef MZ_ANALYSIS_KMEM_LIVE_H
#define MZ_ANALYSIS_KMEM_LIVE_H

#include "analysis/kmem.h"

enum kmem_state {
	KMEM_LIVE = 1,
	KMEM_FREED,
	KMEM_IGNORED, /* live, but not chosen by the filter */
	KMEM_GONE,    /* was IGNORED */
};

struct kmem_page {
	uint64_t page; /* number */
	uint64_t since; /* when the cache became this one */
	uint32_t cache;
	uint32_t unused;
};

struct mz_kmem_live {
	struct mz_kmem_block *slots; /* open addressing; addr 0 = empty */
	size_t mask, used;
	struct kmem_page *pages; /* from 1; a block keeps the number of its own */
	uint32_t npages, cap_pages;
	uint32_t *page_slots; /* by hash; 0 = free */
	size_t page_mask;
	uint64_t *matrix; /* [alloc * cpus + free] */
	unsigned cpus;
	bool no_matrix; /* no memory for it */
	size_t open_gaps;
	uint8_t *chosen; /* sites: 0 not asked yet, 1 no, 2 yes */
	uint32_t cap_chosen;
};

struct mz_kmem_live *mz_kmem_live_new(void);
void mz_kmem_live_free(struct mz_kmem_live *l);

static inline size_t mz_kmem_live_hash(uint64_t v)
{
	return (size_t)((v * 0x9e3779b97f4a7c15u) >> 20);
}

/* Where a block is, or would be. Pages and what was made of them have the same
 * address: of tells which allocator is meant. */
static inline struct mz_kmem_block *mz_kmem_live_slot(struct mz_kmem_block *slots, size_t mask,
						      uint64_t addr, uint8_t of)
{
	size_t i = mz_kmem_live_hash(addr) & mask;

	while (slots[i].addr && (slots[i].addr != addr || slots[i].of != of))
		i = (i + 1) & mask;
	return &slots[i];
}

/* The block at the address, in any state, or NULL. */
static inline struct mz_kmem_block *mz_kmem_live_find(const struct mz_kmem_live *l, uint64_t addr,
						      uint8_t of)
{
	struct mz_kmem_block *b = mz_kmem_live_slot(l->slots, l->mask, addr, of);

	return b->addr && b->state ? b : NULL;
}

/* A block that is not there is made (state 0); NULL = no memory. May move blocks. */
struct mz_kmem_block *mz_kmem_live_add(struct mz_kmem_live *l, uint64_t addr, uint8_t of,
				       uint64_t now);

static inline struct mz_kmem_block *mz_kmem_live_get(struct mz_kmem_live *l, uint64_t addr,
						     uint8_t of, uint64_t now)
{
	struct mz_kmem_block *b = mz_kmem_live_slot(l->slots, l->mask, addr, of);

	return b->addr ? b : mz_kmem_live_add(l, addr, of, now);
}

/* The address will be asked for soon. */
static inline void mz_kmem_live_prefetch(const struct mz_kmem_live *l, uint64_t addr)
{
	__builtin_prefetch(&l->slots[mz_kmem_live_hash(addr) & l->mask], 1);
}

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

/* Was the page seen with another cache since? Then it was given back between. */
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
