// SPDX-License-Identifier: BSD-2-Clause
/* Reorder frees that a log shows after the reuse of their address. */
#include "replay/repair.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/event.h"

int mz_repair_init(struct mz_repair *r)
{
	*r = (struct mz_repair){0};
	r->ring = malloc(MZ_REPAIR_WINDOW * sizeof(*r->ring));
	r->gone = calloc(MZ_REPAIR_WINDOW, sizeof(*r->gone));
	if (!r->ring || !r->gone || mz_live_init(&r->live) < 0) {
		mz_repair_deinit(r);
		return -ENOMEM;
	}
	return 0;
}

void mz_repair_deinit(struct mz_repair *r)
{
	mz_live_deinit(&r->live);
	free(r->ring);
	free(r->gone);
	*r = (struct mz_repair){0};
}

static size_t place(const struct mz_repair *r, size_t i)
{
	return (r->at + i) % MZ_REPAIR_WINDOW;
}

void mz_repair_push(struct mz_repair *r, const struct mz_event *ev)
{
	size_t p = place(r, r->count++);

	r->ring[p] = *ev;
	r->gone[p] = false;
}

/* The key of what an event gives out, and of what it takes back. */
static uint64_t given_out(const struct mz_event *ev)
{
	return ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC ? mz_event_key(ev, ev->addr) : 0;
}

static uint64_t taken_back(const struct mz_event *ev)
{
	if (ev->kind == MZ_FREE)
		return mz_event_key(ev, ev->addr);
	/* one that failed keeps its block */
	return ev->kind == MZ_REALLOC && (ev->addr || !ev->size) ? ev->old_addr : 0;
}

static bool same_thread(const struct mz_event *a, const struct mz_event *b)
{
	return (a->has & b->has & MZ_HAS_TID) && a->tid == b->tid;
}

/* The free of addr that comes too late, if there is one in the window. */
static bool find_late(struct mz_repair *r, uint64_t addr)
{
	const struct mz_event *head = &r->ring[r->at];
	size_t late = 0;

	for (size_t i = 1; i < r->count && !late; i++) {
		const struct mz_event *ev = &r->ring[place(r, i)];

		if (r->gone[place(r, i)])
			continue;
		if (taken_back(ev) == addr) {
			/* a thread's own events are in order: it frees what it was just
			 * given; without threads that is all that can be said */
			if (!(head->has & ev->has & MZ_HAS_TID) || same_thread(head, ev))
				return false;
			late = i;
		} else if (given_out(ev) == addr) {
			return false;
		}
	}
	r->firsts = r->first_at = 0;
	for (size_t i = 1; i <= late && late; i++) {
		const struct mz_event *ev = &r->ring[place(r, i)];

		if (!r->gone[place(r, i)] &&
		    (i == late || same_thread(ev, &r->ring[place(r, late)])))
			r->first[r->firsts++] = place(r, i);
	}
	return late;
}

/* The window's own view of what is live, as far as the events have been handed out. */
static int apply(struct mz_repair *r, const struct mz_event *ev)
{
	struct mz_block *b;
	bool fresh;

	if (taken_back(ev)) {
		b = mz_live_find(&r->live, taken_back(ev));
		if (b)
			mz_live_remove(&r->live, b);
	}
	if (given_out(ev) && !mz_live_insert(&r->live, given_out(ev), &fresh))
		return -ENOMEM;
	return 0;
}

/* An allocation at a live address is suspicious: if its free comes soon after, from another
 * thread, the free goes first, together with everything its thread did before it. */
int mz_repair_pop(struct mz_repair *r, struct mz_event *ev)
{
	uint64_t addr;

	while (r->count && r->gone[r->at] && r->first_at == r->firsts) {
		r->at = place(r, 1);
		r->count--;
	}
	if (!r->count)
		return 0;
	addr = given_out(&r->ring[r->at]);
	if (r->first_at == r->firsts && addr && taken_back(&r->ring[r->at]) != addr &&
	    mz_live_find(&r->live, addr) && find_late(r, addr))
		r->repaired++;
	if (r->first_at < r->firsts) {
		size_t p = r->first[r->first_at++];

		*ev = r->ring[p];
		r->gone[p] = true;
	} else {
		*ev = r->ring[r->at];
		r->at = place(r, 1);
		r->count--;
	}
	return apply(r, ev) < 0 ? -ENOMEM : 1;
}
