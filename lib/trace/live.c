// SPDX-License-Identifier: BSD-2-Clause
/* Map addresses to the blocks that are live there now. */
#include "trace/live.h"

#include <errno.h>

#include "trace/event.h"

#define SIZE sizeof(struct mz_block)

int mz_live_init(struct mz_live *l)
{
	*l = (struct mz_live){0};
	return mz_u64_table_init(&l->blocks, SIZE);
}

void mz_live_deinit(struct mz_live *l)
{
	mz_u64_table_deinit(&l->blocks);
	*l = (struct mz_live){0};
}

struct mz_block *mz_live_find(const struct mz_live *l, uint64_t key)
{
	return mz_u64_table_find(&l->blocks, key, SIZE);
}

struct mz_block *mz_live_insert(struct mz_live *l, uint64_t key, bool *fresh)
{
	return mz_u64_table_insert(&l->blocks, key, SIZE, fresh);
}

void mz_live_remove(struct mz_live *l, struct mz_block *b)
{
	mz_u64_table_remove(&l->blocks, b, SIZE);
}

struct mz_block *mz_live_next(const struct mz_live *l, size_t *at)
{
	while (l->blocks.slots && *at <= l->blocks.mask) {
		struct mz_block *b = mz_u64_table_slot(&l->blocks, (*at)++, SIZE);

		if (b->key)
			return b;
	}
	return NULL;
}

/* An allocation at a live address means that its free was not seen. The old block ends
 * silently, and the event is counted, because nothing else can be known about it. */
static int begin(struct mz_live *l, struct mz_event *ev, uint64_t now, struct mz_effect *fx)
{
	uint64_t key = l->by_object ? ev->object : mz_event_key(ev, ev->addr);
	struct mz_block *b;
	bool fresh;

	if (!key)
		return 0;
	b = mz_live_insert(l, key, &fresh);
	if (!b)
		return -ENOMEM;
	if (!fresh) {
		fx->over_live = true;
		fx->replaced_size = b->size;
		l->unmatched.over_live++;
	}
	l->serial++;
	if (l->by_object)
		l->serial = ev->object;
	else
		ev->object = l->serial;
	b->object = ev->object;
	b->size = ev->size;
	b->born = now;
	fx->came = true;
	return 0;
}

/* A munmap of part of a mapping leaves a block of another shape, which is not followed; it is
 * counted as unknown. */
static bool is_partial(const struct mz_event *ev, const struct mz_block *b)
{
	return ev->call == MZ_CALL_MUNMAP && ev->size < b->size;
}

/* A free without a block is kept and counted: traces that start late are full of them. */
static uint64_t end_block(struct mz_live *l, const struct mz_event *ev, uint64_t key,
			  struct mz_effect *fx)
{
	struct mz_block *b = mz_live_find(l, key);

	if (!b || is_partial(ev, b)) {
		fx->unknown = true;
		l->unmatched.unknown_frees++;
		return 0;
	}
	fx->old = *b;
	fx->went = true;
	mz_live_remove(l, b);
	return fx->old.object;
}

/* A realloc ends one block and begins another. A failed one changes nothing, and a realloc to 0
 * bytes is a free. */
static int exchange(struct mz_live *l, struct mz_event *ev, uint64_t now, struct mz_effect *fx)
{
	uint64_t old = l->by_object ? ev->old_object : ev->old_addr;
	bool failed = ev->size && !(l->by_object ? ev->object : ev->addr);
	int ret;

	if (failed) {
		struct mz_block *b = old ? mz_live_find(l, old) : NULL;

		if (b) {
			fx->old = *b;
			fx->kept = true;
			ev->old_object = b->object;
		}
		return 0;
	}
	/* room first: what fails must fail before anything has changed */
	if (mz_u64_table_full(&l->blocks) && mz_u64_table_more(&l->blocks, SIZE, 0) < 0)
		return -ENOMEM;
	if (old) {
		uint64_t object = end_block(l, ev, old, fx);

		if (!l->by_object)
			ev->old_object = object;
	} else if (l->by_object && (ev->has & MZ_HAS_ADDR) && ev->old_addr) {
		fx->unknown = true;
		l->unmatched.unknown_frees++;
	}
	ret = begin(l, ev, now, fx);
	return ret;
}

/* by_object: the format names blocks itself, and the table only checks them; otherwise the
 * object numbers are assigned here. */
int mz_live_apply(struct mz_live *l, struct mz_event *ev, uint64_t now, struct mz_effect *fx)
{
	uint64_t key;

	*fx = (struct mz_effect){0};
	switch (ev->kind) {
	case MZ_ALLOC: return begin(l, ev, now, fx);
	case MZ_REALLOC: return exchange(l, ev, now, fx);
	case MZ_FREE:
		key = l->by_object ? ev->object : mz_event_key(ev, ev->addr);
		if (key) {
			uint64_t object = end_block(l, ev, key, fx);

			if (!l->by_object)
				ev->object = object;
		} else if (l->by_object && ev->addr) {
			fx->unknown = true;
			l->unmatched.unknown_frees++;
		}
		return 0;
	case MZ_ACCESS:
		if (!l->by_object) {
			struct mz_block *b = ev->addr ? mz_live_find(l, ev->addr) : NULL;

			ev->object = b ? b->object : 0;
		}
		return 0;
	default: return 0;
	}
}
