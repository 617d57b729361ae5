// SPDX-License-Identifier: BSD-2-Clause
/* Pair allocations with their frees, for the table of blocks. */
#include "export/blocks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "trace/event.h"

#define LIVE sizeof(struct mz_live_block)

int mz_blocks_init(struct mz_blocks *b)
{
	*b = (struct mz_blocks){0};
	return mz_u64_table_init(&b->live, LIVE);
}

void mz_blocks_deinit(struct mz_blocks *b)
{
	mz_u64_table_deinit(&b->live);
	free(b->lives);
	*b = (struct mz_blocks){0};
}

/* Lives of ended blocks are reused, so that the array grows with the live blocks and not with
 * the trace. spare is an index + 1, because 0 means none. */
static struct mz_block_life *new_life(struct mz_blocks *b, uint32_t *at)
{
	if (b->spare) {
		*at = b->spare - 1;
		b->spare = b->lives[*at].next;
		return &b->lives[*at];
	}
	if (b->n == b->cap) {
		uint32_t cap = b->cap ? 2 * b->cap : 1024;
		struct mz_block_life *p = cap > b->cap ? realloc(b->lives, cap * sizeof(*p)) : NULL;

		if (!p)
			return NULL;
		b->lives = p;
		b->cap = cap;
	}
	*at = b->n;
	return &b->lives[b->n++];
}

/* As in the usage, blocks are identified by their addresses where they have any. */
static uint64_t key_of(const struct mz_event *ev, bool old)
{
	if (ev->has & MZ_HAS_ADDR)
		return old ? ev->old_addr : mz_event_key(ev, ev->addr);
	return old ? ev->old_object : ev->object;
}

/* The caller gets the row before its slot is released: the pointer is valid only during the
 * call. */
static int end_life(struct mz_blocks *b, struct mz_live_block *l, const struct mz_event *ev,
		    int64_t site, mz_block_end *end, void *arg)
{
	struct mz_block_life *life = &b->lives[l->life];
	int ret = end(arg, life, ev, site);

	life->next = b->spare;
	b->spare = l->life + 1;
	return ret;
}

/* A failed allocation has no key and begins nothing. */
static int birth(struct mz_blocks *b, const struct mz_event *ev, int64_t site, uint64_t number,
		 mz_block_end *end, void *arg)
{
	uint64_t key = key_of(ev, false);
	struct mz_block_life *life;
	struct mz_live_block *l;
	bool fresh;
	int ret = 0;

	if (!key)
		return 0;
	l = mz_u64_table_insert(&b->live, key, LIVE, &fresh);
	if (l && !fresh) {
		/* its free was not seen; all that is known is that it came before this event */
		struct mz_event unseen = {.time = ev->time, .has = ev->has & MZ_HAS_TIME};

		ret = end_life(b, l, &unseen, -1, end, arg);
	}
	life = l ? new_life(b, &l->life) : NULL;
	if (!life)
		return -ENOMEM;
	l->object = ev->object;
	*life = (struct mz_block_life){.birth = *ev, .site = site, .event = number};
	return ret;
}

static int death(struct mz_blocks *b, uint64_t key, const struct mz_event *ev, int64_t site,
		 mz_block_end *end, void *arg)
{
	struct mz_live_block *l = key ? mz_u64_table_find(&b->live, key, LIVE) : NULL;
	int ret;

	/* unmapping a part of a mapping is not tracked */
	if (!l || (ev->call == MZ_CALL_MUNMAP && ev->size < b->lives[l->life].birth.size))
		return 0;
	ret = end_life(b, l, ev, site, end, arg);
	mz_u64_table_remove(&b->live, l, LIVE);
	return ret;
}

/* Accesses of blocks from before the recording have no row to be counted in. */
static void touch(struct mz_blocks *b, const struct mz_event *ev)
{
	uint64_t key = key_of(ev, false);
	struct mz_live_block *l = key ? mz_u64_table_find(&b->live, key, LIVE) : NULL;

	if (l) {
		b->lives[l->life].reads += ev->size;
		b->lives[l->life].writes += ev->arg;
		b->lives[l->life].touched = true;
	}
}

int mz_blocks_add(struct mz_blocks *b, const struct mz_event *ev, int64_t site, uint64_t number,
		  mz_block_end *end, void *arg)
{
	int ret = 0;

	switch (ev->kind) {
	case MZ_FREE: return death(b, key_of(ev, false), ev, site, end, arg);
	case MZ_REALLOC:
		if (key_of(ev, false) || !ev->size) /* else it failed, and the old one stays */
			ret = death(b, key_of(ev, true), ev, site, end, arg);
		return ret ? ret : birth(b, ev, site, number, end, arg);
	case MZ_ALLOC: return birth(b, ev, site, number, end, arg);
	case MZ_ACCESS: touch(b, ev); return 0;
	default: return 0;
	}
}

static int by_birth(const void *a, const void *b)
{
	const struct mz_live_block *x = a, *y = b;

	return MZ_ORDER(x->object, y->object);
}

/* Never-freed blocks come in the order of their allocation, so that two exports of a trace are
 * identical whatever the layout of the hash table. */
int mz_blocks_end(struct mz_blocks *b, mz_block_end *end, void *arg)
{
	struct mz_live_block *v = b->live.slots;
	size_t n = 0;
	int ret = 0;

	/* the hash table is no longer needed: its blocks move to the front of the array */
	for (size_t i = 0; i <= b->live.mask; i++)
		if (v[i].key)
			v[n++] = v[i];
	if (n)
		qsort(v, n, sizeof(*v), by_birth);
	for (size_t i = 0; i < n && !ret; i++)
		ret = end(arg, &b->lives[v[i].life], NULL, -1);
	return ret;
}
