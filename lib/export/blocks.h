/* SPDX-License-Identifier: BSD-2-Clause */
/* The lives of blocks, from birth to free. Memory grows with the live blocks. */
#ifndef MZ_EXPORT_BLOCKS_H
#define MZ_EXPORT_BLOCKS_H

#include <memorizer.h>

#include "base/u64_table.h"

struct mz_block_life {
	struct mz_event birth;
	int64_t site;	/* of the birth; -1 = not known */
	uint64_t event; /* number of the birth */
	uint64_t reads, writes;
	bool touched;  /* reads and writes are known */
	uint32_t next; /* spare ones */
};

struct mz_live_block {
	uint64_t key; /* address or object */
	uint64_t object;
	uint32_t life; /* index */
};

struct mz_blocks {
	struct mz_u64_table live; /* struct mz_live_block */
	struct mz_block_life *lives;
	uint32_t n, cap, spare; /* spare: the first one + 1 */
};

/* Called for each block that ends; death is NULL if it was never freed. 0 or -errno. */
typedef int mz_block_end(void *arg, const struct mz_block_life *b, const struct mz_event *death,
			 int64_t site);

int mz_blocks_init(struct mz_blocks *b);
void mz_blocks_deinit(struct mz_blocks *b);
/* The next event, with its number and site. 0 or -errno. */
int mz_blocks_add(struct mz_blocks *b, const struct mz_event *ev, int64_t site, uint64_t number,
		  mz_block_end *end, void *arg);
/* Ends the blocks that are still live, in the order of their birth. */
int mz_blocks_end(struct mz_blocks *b, mz_block_end *end, void *arg);

#endif
