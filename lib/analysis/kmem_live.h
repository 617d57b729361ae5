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
	uint64_t page; /* number; 0 = free slot */
	uint64_t since; /* when the cache became this one */
	uint32_t cache;
	uint32_t unused;
};

struct mz_kmem_live {
	struct mz_kmem_block *slots; /* open addressing; addr 0 = empty */
	size_t mask, used;
	struct kmem_page *pages;
	size_t page_mask, pages_used;
	uint64_t *matrix; /* [alloc * cpus + free] */
	unsigned cpus;
	size_t open_gaps;
	uint8_t *chosen; /* sites: 0 not asked yet, 1 no, 2 yes */
	uint32_t cap_chosen;
};

struct mz_kmem_live *mz_kmem_live_new(void);
void mz_kmem_live_free(struct mz_kmem_live *l);

/* The block at the address, in any state, or NULL. */
struct mz_kmem_block *mz_kmem_live_find(const struct mz_kmem_live *l, uint64_t addr);
/* The same, made (state 0) if there is none; NULL = no memory. May move blocks. */
struct mz_kmem_block *mz_kmem_live_get(struct mz_kmem_live *l, uint64_t addr, uint64_t now);

/* The address will be asked for soon. */
void mz_kmem_live_prefetch(const struct mz_kmem_live *l, uint64_t addr);

/* An object of the cache was seen in this page. */
void mz_kmem_live_page(struct mz_kmem_live *l, uint64_t addr, uint32_t cache, uint64_t now);
/* Was the page seen with another cache since? Then it was given back between. */
bool mz_kmem_live_recycled(const struct mz_kmem_live *l, uint64_t addr, uint32_t cache,
			   uint64_t since);

void mz_kmem_live_matrix(struct mz_kmem_live *l, int alloc_cpu, int free_cpu);
/* The matrices of CPUs and of nodes into the report. */
int mz_kmem_live_matrices(struct mz_kmem_live *l, struct mz_kmem_report *r);

#endif
