/* SPDX-License-Identifier: BSD-2-Clause */
/* The pools of a recorded program (memorizer/pool.h). */
/*
 * They are kept with their names, and the blocks that each has handed out, because a reset ends
 * them all without naming one. Memory grows with the live blocks of pools, up to a bound; what is
 * beyond it is counted.
 */
#ifndef MZ_RECORD_USER_POOLS_H
#define MZ_RECORD_USER_POOLS_H

#include "base/u64_table.h"

struct mz_user_pool {
	uint64_t number;
	uint64_t first_block; /* its address; 0 = none */
	uint64_t not_kept;    /* blocks */
	uint32_t name;
};

struct mz_pool_block {
	uint64_t addr;
	uint64_t pool;		 /* its number */
	uint64_t next, previous; /* addresses of blocks of the pool; 0 = none */
};

struct mz_user_pools {
	struct mz_u64_table pools;  /* struct mz_user_pool */
	struct mz_u64_table blocks; /* struct mz_pool_block */
	uint64_t *all;		    /* blocks of the pools of all programs; NULL = of this one */
	uint64_t own;
};

/* NULL = no memory. */
struct mz_user_pools *mz_user_pools_new(void);
void mz_user_pools_free(struct mz_user_pools *p);

/* A pool, by the number that the program gave it (not 0); name: a string of the file. 0, or
 * -ENOMEM; pools above the limit are left out. */
int mz_user_pools_add(struct mz_user_pools *p, uint64_t number, uint32_t name);
/* The name; 0 = there is no such pool. */
uint32_t mz_user_pools_name(const struct mz_user_pools *p, uint64_t number);

/* A block was handed out; a block came back. 0 or -ENOMEM. */
int mz_user_pools_came(struct mz_user_pools *p, uint64_t number, uint64_t addr);
void mz_user_pools_went(struct mz_user_pools *p, uint64_t number, uint64_t addr);

/* A reset: the next block that it ends; 0 = that was all. */
uint64_t mz_user_pools_take(struct mz_user_pools *p, uint64_t number);
/* Then: blocks that it ended and that were not kept; at least 1 for a pool that was
 * left out. The pool is forgotten if it was destroyed. */
uint64_t mz_user_pools_end(struct mz_user_pools *p, uint64_t number, bool destroyed);

#endif
