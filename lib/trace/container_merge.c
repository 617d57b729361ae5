// SPDX-License-Identifier: BSD-2-Clause
/* Merge the streams of a container by time, with a heap of lanes that opens a lane when its
 * turn comes. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "trace/container.h"

#define AHEAD 128 /* events of a lane that wait for their turn */

/* ---- what is to be read ------------------------------------------------- */

/* Chunks without selected events are left out; of a raw trace all chunks are needed, to number the
 * blocks. */
static bool may_have(const struct mz_container *c, const struct mz_chunk_info *info)
{
	const struct mz_select *s = &c->select;

	if (!c->selecting || c->raw || info->n_lost)
		return true;
	if (info->fields & MZ_HAS_TIME &&
	    (info->last_time < s->time_from || (s->time_to && info->first_time > s->time_to)))
		return false;
	if (s->object &&
	    !(info->births && s->object >= info->first_object && s->object <= info->last_object) &&
	    !(info->guest_object && s->object >= info->guest_object))
		return false;
	if (s->has_cpu && !(info->cpu_mask >> (s->cpu & 63) & 1))
		return false;
	return !s->has_tid || info->tid_mask >> (s->tid & 63) & 1;
}

/* A chunk that is to be read, and the lane that it belongs to. */
struct wanted {
	uint32_t stream, chunk;
};

static int by_stream(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->chunk < y->chunk ? -1 : 1;
}

static uint32_t count_lanes(const struct wanted *w, size_t n)
{
	uint32_t lanes = 0;

	for (size_t i = 0; i < n; i++)
		lanes += !i || w[i].stream != w[i - 1].stream;
	return lanes;
}

/* Sorted, so that the number of streams costs no more than that of chunks. */
static int make_lanes(struct mz_container *c, struct wanted *w, size_t n)
{
	qsort(w, n, sizeof(*w), by_stream);
	c->lanes = calloc((size_t)count_lanes(w, n) + 1, sizeof(*c->lanes));
	c->chunks = malloc((n + 1) * sizeof(*c->chunks));
	if (!c->lanes || !c->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		c->chunks[i] = w[i].chunk;
		if (!i || w[i].stream != w[i - 1].stream)
			c->lanes[c->n_lanes++] = (struct mz_merge_lane){
				.of = c, .stream = w[i].stream, .chunks = c->chunks + i};
		c->lanes[c->n_lanes - 1].n++;
	}
	return 0;
}

/* Without times there is one order only: that of the file. */
static bool all_have_time(const struct mz_index *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].type == MZ_BLOCK_EVENTS && !(x->v[i].info.fields & MZ_HAS_TIME))
			return false;
	return true;
}

static int load_tables(struct mz_reader *r)
{
	struct mz_container *c = r->state;

	for (size_t i = 0; i < c->scan.index.n; i++) {
		const struct mz_index_entry *e = &c->scan.index.v[i];
		int ret;

		if (e->type != MZ_BLOCK_STRINGS && e->type != MZ_BLOCK_STACKS &&
		    e->type != MZ_BLOCK_TREE && e->type != MZ_BLOCK_CHAINS)
			continue;
		ret = mz_container_scan_load(&c->scan, e, &r->error);
		if (!ret)
			ret = mz_container_meta(r, e->type, c->scan.block.data, c->scan.block.len);
		else if (ret == -EBADMSG)
			c->damaged++;
		if (ret < 0 && ret != -EBADMSG)
			return ret;
	}
	return 0;
}

/* ---- beginning and end -------------------------------------------------- */

int mz_container_merge_start(struct mz_reader *r)
{
	struct mz_container *c = r->state;
	const struct mz_index *x = &c->scan.index;
	bool by_time = all_have_time(x);
	struct wanted *w;
	size_t n = 0;
	int ret = load_tables(r);

	if (ret < 0)
		return ret;
	w = malloc((x->n + 1) * sizeof(*w));
	for (size_t i = 0; w && i < x->n; i++)
		if (x->v[i].type == MZ_BLOCK_EVENTS && may_have(c, &x->v[i].info))
			w[n++] = (struct wanted){by_time ? x->v[i].info.stream : 0, (uint32_t)i};
	ret = w ? make_lanes(c, w, n) : -ENOMEM;
	free(w);
	if (ret < 0 || mz_merge_init(&c->merge, c->n_lanes) < 0)
		return mz_fail_memory(&r->error);
	for (uint32_t i = 0; i < c->n_lanes; i++) {
		struct mz_merge_lane *l = &c->lanes[i];

		l->time = by_time ? x->v[l->chunks[0]].info.first_time : 0;
		mz_merge_add(&c->merge, i, l->stream, l->time);
	}
	return 0;
}

static void close_lane(struct mz_reader *r, struct mz_merge_lane *l)
{
	mz_mem_give(&r->in.budget, l->charge);
	l->charge = 0;
	mz_chunk_readahead_free(l->ahead);
	free(l->waiting);
	l->ahead = NULL;
	l->waiting = NULL;
	l->open = false;
}

void mz_container_merge_stop(struct mz_reader *r)
{
	struct mz_container *c = r->state;

	for (uint32_t i = 0; i < c->n_lanes; i++)
		close_lane(r, &c->lanes[i]);
	free(c->lanes);
	free(c->chunks);
	mz_merge_deinit(&c->merge);
	c->lanes = NULL;
	c->chunks = NULL;
	c->n_lanes = 0;
}

/* ---- one lane ----------------------------------------------------------- */

static int load_chunk(void *arg, uint32_t number, struct mz_buf *payload, struct mz_error *err)
{
	const struct mz_merge_lane *l = arg;
	const struct mz_container_scan *scan = &l->of->scan;

	return mz_container_scan_load_to(scan, &scan->index.v[l->chunks[number]], payload, err);
}

/* Open the lane's next chunk. 1: open; 2: it is damaged, and ev says so. */
static int open_chunk(struct mz_reader *r, struct mz_merge_lane *l, struct mz_event *ev)
{
	struct mz_container *c = r->state;
	const struct mz_index_entry *e = &c->scan.index.v[l->chunks[l->at++]];
	bool gap = !c->selecting && c->n_lanes == 1 && e->info.sequence != l->sequence && l->at > 1;
	int ret;

	/* several lanes take turns at every few events, and a thread for each would be many */
	if (!l->ahead)
		l->ahead =
			mz_chunk_readahead_new(load_chunk, l, l->n, r->beside && c->n_lanes == 1);
	if (!l->ahead)
		return mz_fail_memory(&r->error);
	l->place = e->offset;
	ret = mz_chunk_readahead_next(l->ahead, &r->error);
	/* lanes whose times overlap are open at once, and each has its decoder */
	if (ret == -ENOMEM ||
	    !mz_mem_change(&r->in.budget, &l->charge, mz_chunk_readahead_memory(l->ahead)))
		return mz_fail_memory(&r->error);
	if (ret < 0 && ret != -EBADMSG)
		return ret;
	l->sequence = e->info.sequence + 1;
	l->open = !ret;
	if (!ret && !gap)
		return 1;
	c->damaged++;
	mz_container_lost(ev, ret ? e->info.events : 0, e->info.first_time,
			  e->info.fields & MZ_HAS_TIME);
	return 2;
}

/* Events of the lane, in its order: how many, 0 at its end. */
static long read_lane(struct mz_reader *r, struct mz_merge_lane *l, struct mz_event *ev, size_t max)
{
	struct mz_container *c = r->state;

	for (;;) {
		long n = l->open ? mz_chunk_readahead_read(l->ahead, ev, max) : 0;

		if (n == -ENOMEM)
			return mz_fail_memory(&r->error);
		if (n > 0)
			return n;
		l->open = false;
		if (n < 0) {
			c->damaged++;
			mz_container_lost(ev, 0, l->time, r->fields & MZ_HAS_TIME);
			return 1;
		}
		if (l->at == l->n) {
			close_lane(r, l);
			return 0;
		}
		n = open_chunk(r, l, ev);
		if (n != 1)
			return n < 0 ? n : 1;
	}
}

static int look_ahead(struct mz_reader *r, struct mz_merge_lane *l)
{
	long n;

	if (!l->waiting)
		l->waiting = malloc(AHEAD * sizeof(*l->waiting));
	if (!l->waiting)
		return mz_fail_memory(&r->error);
	n = read_lane(r, l, l->waiting, AHEAD);
	l->at_waiting = 0;
	l->n_waiting = n > 0 ? (uint32_t)n : 0;
	return (int)n;
}

/* ---- all lanes ---------------------------------------------------------- */

/* Events of the first lane, as long as it is the first. */
static long take_turn(struct mz_reader *r, struct mz_event *ev, uint64_t *places, size_t max)
{
	struct mz_container *c = r->state;
	struct mz_merge_lane *l = &c->lanes[c->merge.heap[0].number];
	size_t n = 0;

	if (l->at_waiting == l->n_waiting) {
		int ret = look_ahead(r, l);

		if (ret < 0)
			return ret;
		if (!ret) {
			mz_merge_drop(&c->merge);
			return 0;
		}
	}
	while (n < max && l->at_waiting < l->n_waiting) {
		const struct mz_event *next = &l->waiting[l->at_waiting];

		if (next->has & MZ_HAS_TIME && next->time > l->time) {
			l->time = next->time;
			mz_merge_set(&c->merge, l->time);
			if (&c->lanes[c->merge.heap[0].number] != l)
				break;
		}
		places[n] = l->place;
		ev[n++] = *next;
		l->at_waiting++;
	}
	return (long)n;
}

long mz_container_merge_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	struct mz_container *c = r->state;
	size_t n = 0;

	if (c->n_lanes == 1) {
		struct mz_merge_lane *l = &c->lanes[0];
		long got = read_lane(r, l, ev, max);

		for (long i = 0; i < got; i++)
			r->places[i] = l->place;
		return got;
	}
	while (n < max && c->merge.n) {
		long got = take_turn(r, ev + n, r->places + n, max - n);

		if (got < 0)
			return n ? (long)n : got;
		n += (size_t)got;
	}
	return (long)n;
}
