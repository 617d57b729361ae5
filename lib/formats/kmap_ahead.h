/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of a KMAP parsed by a thread, some batches ahead of whoever adds them up. */
#ifndef MZ_FORMATS_KMAP_AHEAD_H
#define MZ_FORMATS_KMAP_AHEAD_H

#include "formats/kmap.h"

struct mz_kmap_batch {
	char *text; /* whole lines; the records point into it */
	size_t len, cap;
	struct mz_kmap_record *records;
	size_t n, room;
	int ret;	       /* 1 = there may be more, 0 = the end, -errno */
	uint64_t lines, bad, bytes; /* of the map, so far */
};

/* Fills a batch from where the last one ended; sets n, ret and the counts. */
typedef void mz_kmap_make_fn(void *arg, struct mz_kmap_batch *b);

struct mz_kmap_ahead;

/* NULL: no memory, or no thread. */
struct mz_kmap_ahead *mz_kmap_ahead_new(mz_kmap_make_fn *make, void *arg);
/* Waits for the thread. */
void mz_kmap_ahead_free(struct mz_kmap_ahead *a);
/* The next batch, valid until the next call. After one whose ret is not 1 comes none. */
const struct mz_kmap_batch *mz_kmap_ahead_next(struct mz_kmap_ahead *a);

#endif
