/* SPDX-License-Identifier: BSD-2-Clause */
/* Thinning: a sample of the blocks is recorded when not all can be. */
/*
 * The sample is random, and each of its blocks has a weight: the number of blocks that it stands
 * for. A block that is not recorded is marked, so that its free is not recorded either.
 */
#ifndef MZ_PRELOAD_THIN_H
#define MZ_PRELOAD_THIN_H

#include "ring.h"

/* Something was thinned in this process, or is about to be: blocks may be marked. */
extern bool mz_thinned __attribute__((visibility("hidden")));

/* Is a new block to be recorded, and how many blocks does it stand for? If it is not recorded, it
 * is marked and counted. */
bool mz_thin_keeps(struct mz_thread *t, const void *p, uint64_t size, uint32_t *weight)
	__attribute__((visibility("hidden")));
/* An event is left out. */
void mz_thin_count(struct mz_thread *t) __attribute__((visibility("hidden")));

/* A block that is about to be freed: true if it was not recorded, so that its free is not
 * recorded either; it is counted. */
bool mz_thin_frees(struct mz_thread *t, const void *p) __attribute__((visibility("hidden")));

/* The same for the old block of a realloc, which is counted when the call has returned. */
bool mz_thin_take(const void *p) __attribute__((visibility("hidden")));
/* Afterwards: true if it became p, a block to be recorded or not. */
bool mz_thin_changed(struct mz_thread *t, const void *old, const void *p, uint64_t size)
	__attribute__((visibility("hidden")));

/* A new block whose record was lost: its free is not recorded either. */
void mz_thin_lost(struct mz_thread *t, const void *p, uint64_t size)
	__attribute__((visibility("hidden")));

#endif
