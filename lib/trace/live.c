// SPDX-License-Identifier: BSD-2-Clause
/* Map addresses to the blocks that are live there now. */
#include "trace/live.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_BITS 10

static size_t home(const struct mz_live *l, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> l->shift;
}

static int set_size(struct mz_live *l, unsigned bits)
{
	struct mz_block *slots = calloc((size_t)1 << bits, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	l->slots = slots;
	l->mask = ((size_t)1 << bits) - 1;
	l->shift = 64 - bits;
	return 0;
}

int mz_live_init(struct mz_live *l)
{
	*l = (struct mz_live){0};
	return set_size(l, FIRST_BITS);
}

void mz_live_deinit(struct mz_live *l)
{
	free(l->slots);
	*l = (struct mz_live){0};
}

struct mz_block *mz_live_find(const struct mz_live *l, uint64_t key)
{
	for (size_t i = home(l, key);; i = (i + 1) & l->mask) {
		struct mz_block *b = &l->slots[i];

		if (b->key == key)
			return b;
		if (!b->key)
			return NULL;
	}
}

static struct mz_block *free_slot(struct mz_live *l, uint64_t key)
{
	size_t i = home(l, key);

	while (l->slots[i].key)
		i = (i + 1) & l->mask;
	return &l->slots[i];
}

static int grow(struct mz_live *l)
{
	struct mz_block *old = l->slots;
	size_t n = l->mask + 1;

	if (set_size(l, 64 - l->shift + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (old[i].key)
			*free_slot(l, old[i].key) = old[i];
	free(old);
	return 0;
}

struct mz_block *mz_live_insert(struct mz_live *l, uint64_t key, bool *fresh)
{
	struct mz_block *b = &l->slots[home(l, key)];

	while (b->key && b->key != key)
		b = b == &l->slots[l->mask] ? l->slots : b + 1;
	*fresh = !b->key;
	if (b->key)
		return b;
	if (l->used >= l->mask / 4 * 3) {
		if (grow(l) < 0)
			return NULL;
		b = free_slot(l, key);
	}
	*b = (struct mz_block){.key = key};
	l->used++;
	return b;
}

/* Close the gap, so that no tombstones pile up in a long trace. */
void mz_live_remove(struct mz_live *l, struct mz_block *b)
{
	size_t gap = (size_t)(b - l->slots);

	for (size_t i = (gap + 1) & l->mask; l->slots[i].key; i = (i + 1) & l->mask) {
		size_t want = home(l, l->slots[i].key);

		/* may it move to the gap: is the gap between its home and here? */
		if (((i - want) & l->mask) >= ((i - gap) & l->mask)) {
			l->slots[gap] = l->slots[i];
			gap = i;
		}
	}
	l->slots[gap].key = 0;
	l->used--;
}

static int begin(struct mz_live *l, struct mz_event *ev, uint64_t now, struct mz_effect *fx)
{
	uint64_t key = l->by_object ? ev->object : ev->addr;
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

/* munmap of a part of a mapping leaves a block that has another shape; it is
 * not followed, and counted as unknown. */
static bool is_partial(const struct mz_event *ev, const struct mz_block *b)
{
	return ev->call == MZ_CALL_MUNMAP && ev->size < b->size;
}

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
	if (l->used >= l->mask / 4 * 3 && grow(l) < 0)
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

int mz_live_apply(struct mz_live *l, struct mz_event *ev, uint64_t now, struct mz_effect *fx)
{
	uint64_t key;

	*fx = (struct mz_effect){0};
	switch (ev->kind) {
	case MZ_ALLOC:
		return begin(l, ev, now, fx);
	case MZ_REALLOC:
		return exchange(l, ev, now, fx);
	case MZ_FREE:
		key = l->by_object ? ev->object : ev->addr;
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
	default:
		return 0;
	}
}
