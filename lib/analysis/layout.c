// SPDX-License-Identifier: BSD-2-Clause
/* Track the neighbours, gaps and pages of live blocks. */
#include "analysis/layout.h"
#include "trace/event.h"

#include <stdlib.h>

struct mz_layout *mz_layout_new(void)
{
	struct mz_layout *l = calloc(1, sizeof(*l));

	if (l)
		mz_timeline_init(&l->time, MZ_LAYOUT_POINTS);
	return l;
}

void mz_layout_free(struct mz_layout *l)
{
	if (!l)
		return;
	mz_sorted_map_deinit(&l->blocks);
	free(l);
}

double mz_layout_fragmentation(uint64_t live_bytes, uint64_t pages)
{
	return pages ? 1 - (double)live_bytes / ((double)pages * MZ_PAGE) : 0;
}

static uint64_t last_page(uint64_t addr, uint64_t size)
{
	/* a block of 0 bytes lies in the page of its address */
	return (addr + (size ? size - 1 : 0)) / MZ_PAGE;
}

/* A page that a neighbour also touches is not added or removed with this block. */
static void look(const struct mz_layout *l, struct mz_map_pos at, struct mz_spot *s)
{
	struct mz_entry e = mz_sorted_map_at(&l->blocks, at), n;

	*s = (struct mz_spot){
		.addr = e.key,
		.size = e.value,
		.born = e.extra,
		.prev_gap = -1,
		.next_gap = -1,
		.first_page = e.key / MZ_PAGE,
		.last_page = last_page(e.key, e.value),
	};

	s->pages = s->last_page - s->first_page + 1;
	if (mz_sorted_map_prev(&l->blocks, at, &n)) {
		s->prev = n.key;
		s->prev_gap = (int64_t)(e.key - (n.key + n.value));
		if (last_page(n.key, n.value) == s->first_page)
			s->pages--;
	}
	if (mz_sorted_map_next(&l->blocks, at, &n)) {
		s->next = n.key;
		s->next_gap = (int64_t)(n.key - (e.key + e.value));
		if (n.key / MZ_PAGE == s->last_page && s->pages)
			s->pages--;
	}
}

static void take_out(struct mz_layout *l, struct mz_map_pos at, struct mz_spot *s)
{
	look(l, at, s);
	mz_sorted_map_remove(&l->blocks, at);
	l->live_bytes -= s->size;
	l->pages -= s->pages;
}

/* Unmapping a part of a mapping is not followed, as in trace/live.c. */
static bool is_partial(struct mz_layout *l, const struct mz_event *ev, struct mz_map_pos at)
{
	return ev->call == MZ_CALL_MUNMAP && ev->size < mz_sorted_map_at(&l->blocks, at).value;
}

static void end_block(struct mz_layout *l, const struct mz_event *ev, uint64_t addr,
		      struct mz_layout_step *step)
{
	struct mz_map_pos at;

	if (!mz_sorted_map_find(&l->blocks, addr, &at) || is_partial(l, ev, at)) {
		step->unknown = true;
		l->unknown++;
		return;
	}
	take_out(l, at, &step->old);
	step->went = true;
}

static void peaks(struct mz_layout *l, uint64_t now)
{
	if (l->live_bytes > l->peak_bytes) {
		l->peak_bytes = l->live_bytes;
		l->peak_bytes_at = now;
	}
	if (l->pages > l->peak_pages) {
		l->peak_pages = l->pages;
		l->peak_pages_at = now;
		l->live_at_peak_pages = l->live_bytes;
	}
}

/* An allocation at a live address replaces the block there, because two blocks cannot be in one
 * place; the missing free is counted. */
static int begin_block(struct mz_layout *l, const struct mz_event *ev, uint64_t now,
		       struct mz_layout_step *step)
{
	struct mz_spot replaced;
	struct mz_map_pos at;
	int ret;

	if (mz_sorted_map_find(&l->blocks, ev->addr, &at)) {
		take_out(l, at, &replaced);
		step->over_live = true;
		l->over_live++;
		mz_sorted_map_find(&l->blocks, ev->addr, &at);
	}
	ret = mz_sorted_map_insert(&l->blocks, &at, (struct mz_entry){ev->addr, ev->size, now});
	if (ret < 0)
		return ret;
	step->came = true;
	look(l, at, &step->new);
	l->live_bytes += ev->size;
	l->pages += step->new.pages;
	if (step->new.prev && step->new.prev_gap >= 0)
		mz_histogram_add(&l->gaps, (uint64_t)step->new.prev_gap);
	l->overlaps += (step->new.prev && step->new.prev_gap < 0) ||
		       (step->new.next && step->new.next_gap < 0);
	peaks(l, now);
	return 0;
}

static void sample(struct mz_layout *l, uint64_t now)
{
	struct mz_timeline_bin b = {.at = now, .live = l->live_bytes, .pages = l->pages};

	l->events++;
	mz_timeline_event(&l->time, &b, MZ_TIMELINE_FIRST);
}

/* A realloc ends the old block before the new one begins, so that growing in place is not an
 * overlap. */
int mz_layout_add(struct mz_layout *l, const struct mz_event *ev, uint64_t now,
		  struct mz_layout_step *step)
{
	bool frees = ev->kind == MZ_FREE || ev->kind == MZ_REALLOC;
	bool allocs = ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC;
	uint64_t old = ev->kind == MZ_FREE ? ev->addr : ev->old_addr;
	bool failed = ev->kind == MZ_REALLOC && ev->size && !ev->addr;
	int ret = 0;

	step->went = step->came = step->unknown = step->over_live = false;
	if (frees && old && !failed)
		end_block(l, ev, old, step);
	if (allocs && ev->addr)
		ret = begin_block(l, ev, now, step);
	if (ev->kind == MZ_LOST) {
		l->lost += ev->size;
		mz_count_lost(l->lost_by, ev);
	} else if ((frees || allocs) && !step->went && !step->came && !step->unknown) {
		l->no_effect++;
	}
	sample(l, now);
	return ret;
}
