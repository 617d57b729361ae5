/* SPDX-License-Identifier: BSD-2-Clause */
/* Removing recordings from a store. */
#ifndef MZ_STORE_PRUNE_H
#define MZ_STORE_PRUNE_H

#include "store/questions.h"

struct mz_store_pruning {
	struct mz_store_filter of; /* only these */
	uint64_t before;	   /* ms since 1970: recordings from before that time */
	size_t keep;		   /* how many of them to keep of each program, host and revision */
	bool dry_run;
	uint64_t now;
};

struct mz_store_pruned {
	uint64_t recordings, rows; /* removed; rows: stacks of them */
	uint64_t left;		   /* in the whole store, whatever the filter says */
};

/* Also removes what unfinished attempts left behind. 0 or -errno with err set. */
int mz_store_prune(struct mz_store *s, const struct mz_store_pruning *how,
		   struct mz_store_pruned *pruned, struct mz_error *err);

#endif
