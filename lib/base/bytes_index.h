/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of bytes get dense numbers, and each is kept once: 0 for the first new one, 1 for
 * the next. */
#ifndef MZ_BASE_BYTES_INDEX_H
#define MZ_BASE_BYTES_INDEX_H

#include "base/hash_index.h"

struct mz_bytes_item {
	const char *data; /* a copy, with a 0 behind it; NULL = there is none */
	size_t len;
};

struct mz_bytes_index {
	struct mz_bytes_item *items; /* by number */
	size_t count, cap;
	struct mz_hash_index index;
	uint64_t seed[2];
};

void mz_bytes_index_deinit(struct mz_bytes_index *ix);

/* The number of the run; a new one if it is not there. MZ_HASH_NONE: no memory. */
uint32_t mz_bytes_index_put(struct mz_bytes_index *ix, const void *data, size_t len);

/* A new number without a run: its item has no data. */
uint32_t mz_bytes_index_skip(struct mz_bytes_index *ix);

#endif
