/* SPDX-License-Identifier: BSD-2-Clause */
/* A separate thread decodes a file, a few batches ahead of the reader. */
#ifndef MZ_ANALYSIS_KMEM_READAHEAD_H
#define MZ_ANALYSIS_KMEM_READAHEAD_H

#include "symbols/kallsyms.h"
#include "trace/reader.h"

/* Events, and the sites and caches that occur first in this batch, in their order. The caller
 * owns all of it until the next call, and may change the events. */
struct kmem_batch {
	long n; /* 0 = the end, -errno = the reader's error */
	struct mz_event ev[MZ_BATCH];
	uint64_t orders[MZ_BATCH]; /* if the file has them */
	uint64_t *sites;	   /* addresses */
	uint32_t nsites;
	size_t cap_sites;
	uint64_t *stacks; /* if wanted: for each site how many addresses, and those */
	uint32_t nstacks;
	size_t cap_stacks;
	char **caches; /* their names; NULL = lost */
	uint32_t ncaches;
	size_t cap_caches;
};

struct mz_kmem_readahead;

/* Takes over the reader, which the caller must not use until free(). NULL = no memory. threaded:
 * false = decode on request; stacks: provide whole stacks; syms, which may be NULL, separates the
 * call site of a stack from the allocator's own frames. */
struct mz_kmem_readahead *mz_kmem_readahead_new(struct mz_reader *r, const struct mz_kallsyms *syms,
						bool threaded, bool stacks);
void mz_kmem_readahead_free(struct mz_kmem_readahead *a);

/* The next batch; the same one again after an end or an error. */
struct kmem_batch *mz_kmem_readahead_next(struct mz_kmem_readahead *a);
/* As mz_beside_forked(): there is no next batch. */
bool mz_kmem_readahead_forked(const struct mz_kmem_readahead *a);

#endif
