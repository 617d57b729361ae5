// SPDX-License-Identifier: BSD-2-Clause
/* Write classic traces and refuse events that the format cannot hold. */
#include <errno.h>

#include "formats/classic.h"
#include "trace/event.h"

int mz_classic_writer_init(struct mz_classic_writer *w)
{
	*w = (struct mz_classic_writer){0};
	return mz_live_init(&w->live);
}

void mz_classic_writer_deinit(struct mz_classic_writer *w)
{
	mz_live_deinit(&w->live);
}

const char *mz_classic_reason(enum mz_classic_fit fit)
{
	switch (fit) {
	case MZ_CLASSIC_ZERO: return "a block of 0 bytes";
	case MZ_CLASSIC_UNKNOWN: return "a free or realloc of a block that was never allocated";
	case MZ_CLASSIC_OVER_LIVE: return "an allocation at the address of a live block";
	case MZ_CLASSIC_LOST: return "a gap, where events were lost";
	default: return "an event";
	}
}

/* Seven bits per byte, lowest first; here the highest bit marks the last byte, not the ones before
 * it. */
static char *put_number(char *p, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*p++ = (char)(v & 0x7f);
	*p++ = (char)(v | 0x80);
	return p;
}

/* Blocks are identified by address where they have one. Serials number the blocks in the order in
 * which they are written, whatever their numbers in the input. */
static uint64_t key_of(const struct mz_event *ev, uint64_t addr, uint64_t object)
{
	return ev->has & MZ_HAS_ADDR ? mz_event_key(ev, addr) : object;
}

/* Add a live block, unless there is one at its address already. */
static int put_alloc(struct mz_classic_writer *w, const struct mz_event *ev, uint64_t key,
		     uint64_t old_serial, char **p)
{
	bool fresh;
	struct mz_block *b = mz_live_insert(&w->live, key, &fresh);

	if (!b)
		return -ENOMEM;
	if (!fresh)
		return MZ_CLASSIC_OVER_LIVE;
	*p = put_number(*p, ev->size);
	*p = put_number(*p, old_serial ? w->live.serial + 1 - old_serial : 0);
	*p = put_number(*p, 1);
	b->object = ++w->live.serial;
	return MZ_CLASSIC_FITS;
}

/* A failed call leaves no trace in this format, and a block of 0 bytes would be read as a free. */
static int alloc(struct mz_classic_writer *w, const struct mz_event *ev, char **p)
{
	uint64_t key = key_of(ev, ev->addr, ev->object);

	if (!key)
		return MZ_CLASSIC_NO_EFFECT;
	if (!ev->size)
		return MZ_CLASSIC_ZERO;
	return put_alloc(w, ev, key, 0, p);
}

/* A free names its block by how many blocks ago it was allocated. */
static int release(struct mz_classic_writer *w, const struct mz_event *ev, uint64_t addr,
		   uint64_t object, char **p)
{
	uint64_t key = key_of(ev, addr, object);
	struct mz_block *b;

	if (!key)
		return addr ? MZ_CLASSIC_UNKNOWN : MZ_CLASSIC_NO_EFFECT;
	b = mz_live_find(&w->live, key);
	if (!b)
		return MZ_CLASSIC_UNKNOWN;
	*p = put_number(*p, 0);
	*p = put_number(*p, w->live.serial + 1 - b->object);
	mz_live_remove(&w->live, b);
	return MZ_CLASSIC_FITS;
}

/* The original writes a realloc as a new block that names the one it replaces. A realloc that is in
 * fact free(p) or malloc(n) is written as such. */
static __attribute__((noinline)) int exchange(struct mz_classic_writer *w,
					      const struct mz_event *ev, char **p)
{
	uint64_t old = key_of(ev, ev->old_addr, ev->old_object);
	uint64_t key = key_of(ev, ev->addr, ev->object);
	uint64_t serial;
	struct mz_block *b;

	if (!key && ev->size)
		return MZ_CLASSIC_NO_EFFECT; /* failed: the old block stays */
	if (!key)
		return release(w, ev, ev->old_addr, ev->old_object, p);
	if (!old)
		return alloc(w, ev, p);
	if (!ev->size)
		return MZ_CLASSIC_ZERO;
	b = mz_live_find(&w->live, old);
	if (!b)
		return MZ_CLASSIC_UNKNOWN;
	if (key != old && mz_live_find(&w->live, key))
		return MZ_CLASSIC_OVER_LIVE;
	serial = b->object;
	mz_live_remove(&w->live, b);
	return put_alloc(w, ev, key, serial, p);
}

/* The caller decides what to do with what does not fit: skip it, or give up. */
int mz_classic_put(struct mz_classic_writer *w, const struct mz_event *ev, char **p)
{
	/* nearly all events are of the first two kinds */
	if (ev->kind == MZ_ALLOC)
		return alloc(w, ev, p);
	if (ev->kind == MZ_FREE)
		return release(w, ev, ev->addr, ev->object, p);
	if (ev->kind == MZ_REALLOC)
		return exchange(w, ev, p);
	return ev->kind == MZ_LOST ? MZ_CLASSIC_LOST : MZ_CLASSIC_NO_EFFECT;
}
