/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches made by a thread, some of them ahead of whoever takes them. */
#ifndef MZ_BASE_AHEAD_H
#define MZ_BASE_AHEAD_H

#include <stdbool.h>

#define MZ_AHEAD 8 /* batches; they are the caller's */

/* Fills the batch of that number, which nobody uses; false: it is the last. */
typedef bool mz_ahead_fn(void *arg, unsigned batch);

struct mz_ahead;

/* NULL: no memory. Not threaded, or no thread to be had: made when asked for. */
struct mz_ahead *mz_ahead_new(mz_ahead_fn *make, void *arg, bool threaded);
/* Waits for the thread. */
void mz_ahead_free(struct mz_ahead *a);
/* The number of the next batch, the caller's until the next call. None after the last. */
unsigned mz_ahead_next(struct mz_ahead *a);

#endif
