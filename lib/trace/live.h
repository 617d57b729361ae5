/* SPDX-License-Identifier: BSD-2-Clause */
/* The live blocks of a trace: which block an address refers to now. */
/* Memory grows with the number of live blocks, not with the length of the trace. */
#ifndef MZ_TRACE_LIVE_H
#define MZ_TRACE_LIVE_H

#include <memorizer.h>

#include "base/u64_table.h"

struct mz_block {
	uint64_t key; /* of its address, or object where addresses are unknown; never 0 */
	uint64_t object;
	uint64_t size;
	uint64_t born; /* the caller's clock: a line number, an event number, a time */
};

struct mz_live {
	struct mz_u64_table blocks;
	uint64_t serial; /* object of the newest block */
	struct mz_unmatched unmatched;
	bool by_object; /* events come with objects: the key is the object */
};

int mz_live_init(struct mz_live *l);
void mz_live_deinit(struct mz_live *l);

/* The block, or NULL. Valid until the next change. */
struct mz_block *mz_live_find(const struct mz_live *l, uint64_t key);
/* The block, new (object 0) or there already (fresh false); NULL = no memory. */
struct mz_block *mz_live_insert(struct mz_live *l, uint64_t key, bool *fresh);
void mz_live_remove(struct mz_live *l, struct mz_block *b);
/* All of them, in no particular order: *at begins with 0. NULL: the end. */
struct mz_block *mz_live_next(const struct mz_live *l, size_t *at);

static inline size_t mz_live_count(const struct mz_live *l)
{
	return l->blocks.used;
}

/* What an event did. */
struct mz_effect {
	struct mz_block old;	/* the block that went, when went or kept */
	bool went;		/* a live block ended */
	bool kept;		/* a failed realloc: the old block stays */
	bool came;		/* a block began */
	bool unknown;		/* a free or realloc of a block never seen */
	bool over_live;		/* a live block was there already, and is replaced */
	uint64_t replaced_size; /* of that block */
};

/*
 * Apply the event: sets its object and old_object (unless it has them already), and reports what it
 * did. now becomes the birth of the new block. 0, or -ENOMEM with nothing changed.
 */
int mz_live_apply(struct mz_live *l, struct mz_event *ev, uint64_t now, struct mz_effect *fx);

static inline void mz_live_prefetch(const struct mz_live *l, uint64_t key)
{
	mz_u64_table_prefetch(&l->blocks, key, sizeof(struct mz_block));
}

#endif
