/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of live serials: a bit each, in pages that exist while a block in
 * them lives. For checking a trace that names its blocks by serial, at a
 * fraction of the cost of a table of blocks.
 */
#ifndef MZ_TRACE_SERIALS_H
#define MZ_TRACE_SERIALS_H

#include "trace/live.h"

#define MZ_SERIAL_PAGE 4096 /* serials in a page */

struct mz_serial_page {
	uint64_t number;
	uint32_t live;
	uint64_t bits[MZ_SERIAL_PAGE / 64];
};

struct mz_serials {
	struct mz_live pages; /* page number + 1 -> page, in object */
	struct mz_serial_page *newest; /* the page that grows, NULL = none */
	struct mz_serial_page *spare;
};

int mz_serials_init(struct mz_serials *s);
void mz_serials_deinit(struct mz_serials *s);

/* Serials are added in rising order. 0 or -ENOMEM. */
int mz_serials_add(struct mz_serials *s, uint64_t serial);
/* Was it live? It is not any more. */
bool mz_serials_remove(struct mz_serials *s, uint64_t serial);

#endif
