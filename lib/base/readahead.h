/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread makes batches, some of them ahead of the consumer. */
#ifndef MZ_BASE_READAHEAD_H
#define MZ_BASE_READAHEAD_H

#include <stdbool.h>

#define MZ_READAHEAD 8 /* batches, unless the caller needs more */

/* Fills the batch of that number, which is not in use; false: it is the last. */
typedef bool mz_readahead_fn(void *arg, unsigned batch);

struct mz_readahead;

/* batches: two or more, the caller's. NULL: no memory. If it is not threaded, or no thread could be
 * started, batches are made on request. */
struct mz_readahead *mz_readahead_new(mz_readahead_fn *make, void *arg, unsigned batches,
				      bool threaded);
/* Waits for the thread. */
void mz_readahead_free(struct mz_readahead *a);
/* The number of the next batch, the caller's until the next call. None after the last. */
unsigned mz_readahead_next(struct mz_readahead *a);
/* As mz_beside_forked(): there are no more batches. */
bool mz_readahead_forked(const struct mz_readahead *a);

#endif
