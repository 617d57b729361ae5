/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of live serials. */
/*
 * Each has a bit, in pages that exist while a block in them lives. It serves for checking a trace
 * that names its blocks by serial, at a fraction of the cost of a table of blocks.
 */
#ifndef MZ_TRACE_LIVE_SET_H
#define MZ_TRACE_LIVE_SET_H

#include "base/u64_table.h"

#define MZ_LIVE_SET_PAGE 4096 /* serials in a page */

struct mz_live_set_page {
	uint64_t number;
	uint32_t live;
	uint64_t bits[MZ_LIVE_SET_PAGE / 64];
};

struct mz_live_set_slot {
	uint64_t key; /* number of the page, + 1 */
	struct mz_live_set_page *page;
};

struct mz_live_set {
	struct mz_u64_table pages;	 /* struct mz_live_set_slot */
	struct mz_live_set_page *newest; /* the page that grows, NULL = none */
	struct mz_live_set_page *spare;
};

int mz_live_set_init(struct mz_live_set *s);
void mz_live_set_deinit(struct mz_live_set *s);

/* Serials are added in rising order. 0 or -ENOMEM. */
int mz_live_set_add(struct mz_live_set *s, uint64_t serial);
/* Was it live? It is not any more. */
bool mz_live_set_remove(struct mz_live_set *s, uint64_t serial);

#endif
