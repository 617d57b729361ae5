/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of two numbers get dense numbers: 0 for the first new one, 1 for the next. */
/* What is known about a key is in the caller's array at that number. */
#ifndef MZ_BASE_PAIR_INDEX_H
#define MZ_BASE_PAIR_INDEX_H

#include "base/array.h"
#include "base/hash_index.h"

#define MZ_PAIR_INDEX_NONE MZ_HASH_NONE

struct mz_key {
	uint64_t a, b;
};

struct mz_pair_index {
	struct mz_key *keys; /* by number */
	size_t count, cap;
	struct mz_hash_index index;
	uint64_t seed[2];
};

void mz_pair_index_deinit(struct mz_pair_index *ix);
/* Without keys, and ready for new ones. */
void mz_pair_index_clear(struct mz_pair_index *ix);

/* The number of the key; a new one if it is not there. MZ_PAIR_INDEX_NONE: no memory. */
uint32_t mz_pair_index_put(struct mz_pair_index *ix, uint64_t a, uint64_t b);
/* MZ_PAIR_INDEX_NONE: it is not there. */
uint32_t mz_pair_index_get(const struct mz_pair_index *ix, uint64_t a, uint64_t b);

/*
 * In a table that is larger than the caches, each lookup waits for memory. A caller with many
 * lookups prefetches their slots first, then what the slots point to, and only then looks: the
 * waits overlap. expect() returns the likely number of the key, or NONE.
 */
void mz_pair_index_ask(const struct mz_pair_index *ix, uint64_t a, uint64_t b);
uint32_t mz_pair_index_expect(const struct mz_pair_index *ix, uint64_t a, uint64_t b);

#endif
