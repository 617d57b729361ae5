// SPDX-License-Identifier: BSD-2-Clause
/* Decode a trace and fill the queues of the replay threads. */
#include "replay/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "formats/open.h"
#include "replay/print.h"
#include "replay/repair.h"
#include "trace/reader.h"
#include "trace/sampled.h"

/* ---- threads ------------------------------------------------------------ */

int mz_tids_init(struct mz_tids *t)
{
	t->count = 0;
	return mz_u64_table_init(&t->map, sizeof(struct mz_tid));
}

void mz_tids_deinit(struct mz_tids *t)
{
	mz_u64_table_deinit(&t->map);
}

int mz_tids_number(struct mz_tids *t, const struct mz_event *ev)
{
	uint64_t key = (ev->has & MZ_HAS_TID ? ev->tid : 0) + 1ull;
	bool fresh;
	struct mz_tid *tid = mz_u64_table_insert(&t->map, key, sizeof(*tid), &fresh);

	if (!tid)
		return -ENOMEM;
	if (fresh)
		tid->number = t->count++;
	return (int)tid->number;
}

/* A map has no events to replay, and those of a sample lack their blocks. */
static int check(const struct mz_reader *r, const char *name, struct mz_error *err)
{
	enum mz_recording_kind kind;
	int ret = mz_reader_kind(r, &kind, err);

	if (ret < 0)
		return ret;
	return kind == MZ_RECORDING_KMAP ? mz_kind_refuse(name, kind, err)
					 : mz_sampled_refuse(r, "a replay", err);
}

static struct mz_reader *open_reader(int fd, const char *name, unsigned flags, struct mz_error *err)
{
	struct mz_reader *r;
	struct mz_input in;
	int ret;

	if (mz_input_fd(&in, fd, name, err) < 0)
		return NULL;
	in.budget.large = flags & MZ_OPEN_LARGE;
	r = mz_reader_open_input(&in, err);
	ret = r ? check(r, name, err) : 0;
	if (ret < 0) {
		mz_reader_close(r);
		errno = -ret;
		return NULL;
	}
	return r;
}

/* The number of threads must be known before the first is started, so the trace is read once
 * for it alone. */
int mz_feed_scan(int fd, const char *name, unsigned flags, struct mz_error *err)
{
	struct mz_event ev[MZ_BATCH];
	struct mz_tids tids;
	struct mz_reader *r;
	long n = 0;
	int ret = 0;

	if (mz_tids_init(&tids) < 0)
		return mz_fail_memory(err);
	r = lseek(fd, 0, SEEK_SET) < 0 ? NULL : open_reader(fd, name, flags, err);
	while (r && !ret && (n = mz_reader_read_raw(r, ev, MZ_BATCH)) > 0)
		for (long i = 0; i < n && ret >= 0; i++)
			ret = mz_tids_number(&tids, &ev[i]) < 0 ? mz_fail_memory(err) : 0;
	if (!r)
		ret = err->code ? -err->code : mz_fail(err, errno, "%s: %s", name, strerror(errno));
	else if (n < 0 && !ret)
		ret = mz_fail(err, (int)-n, "%s", mz_reader_error(r)->text);
	if (!ret)
		ret = tids.count ? (int)tids.count : 1;
	mz_reader_close(r);
	mz_tids_deinit(&tids);
	return ret;
}

/* ---- filling ------------------------------------------------------------ */

struct feeding {
	struct mz_feed *f;
	struct mz_queues *q;
	struct mz_plan plan;
	struct mz_tids tids;
	struct mz_print print;
	struct mz_batch **open; /* the batch that each queue is being filled */
	bool rest;		/* what follows are the frees of the rest */
	struct mz_reader *reader;
	struct mz_error *err;
};

/* The batch carries what the engine needs to know at its end: how many slots exist, and the
 * live bytes for the samples. */
static int push(struct feeding *w, unsigned queue, bool end_round, bool end)
{
	struct mz_batch *b = w->open[queue];

	b->slots = w->plan.slots;
	b->live = w->plan.counts.live_bytes;
	b->rest = w->rest;
	b->end_round = end_round;
	b->end = end;
	w->open[queue] = NULL;
	mz_queue_push(w->q, queue);
	return 0;
}

/* Threads wait for each other: what one of them may wait for must be on its way
 * before the decoder waits for any of them. */
static void push_all(struct feeding *w)
{
	for (unsigned i = 0; i < w->q->count; i++)
		if (w->open[i] && w->open[i]->count)
			push(w, i, false, false);
}

/* A full queue must not keep half-filled batches of other threads from starting: the thread
 * that is waited for may need one of them. */
static int open_batch(struct feeding *w, unsigned queue)
{
	uint32_t filled = atomic_load_explicit(&w->q->queues[queue].filled, memory_order_relaxed);
	size_t needed = 0;
	struct mz_batch *b;

	if (w->f->print >= 0)
		needed = mz_print_needed(&w->print, queue, filled - w->q->batches);
	if (needed || mz_queue_full(w->q, queue))
		push_all(w);
	if (w->f->print >= 0) {
		int ret = mz_print_done(&w->print, needed);

		if (ret < 0)
			return ret;
	}
	b = mz_queue_room(w->q, queue);
	if (!b)
		return mz_fail(w->err, EPIPE, "the replaying process has ended");
	b->count = 0;
	w->open[queue] = b;
	return 0;
}

static int put(struct feeding *w, unsigned queue, const struct mz_op *op, const struct mz_event *ev)
{
	struct mz_batch *b;
	int ret = w->open[queue] ? 0 : open_batch(w, queue);

	if (ret < 0)
		return ret;
	b = w->open[queue];
	if (w->f->print >= 0 && ev) {
		ret = mz_print_add(&w->print, ev, queue, w->q->queues[queue].filled, b->count);
		if (ret < 0)
			return ret;
	}
	b->ops[b->count++] = *op;
	return b->count == w->q->ops ? push(w, queue, false, false) : 0;
}

/* A replay that writes to its blocks takes the memory that the trace requests: one line of text may
 * request all memory that there is. */
static int check_size(struct feeding *w)
{
	struct mz_mem_budget *b = &w->reader->in.budget;

	if (!w->f->touches || mz_mem_passes(b, w->plan.counts.live_bytes))
		return 0;
	return mz_fail(w->err, EFBIG,
		       "%s: its %llu bytes need %llu MiB at once, to be written to; if you "
		       "trust it, use --allow-large",
		       w->f->name, (unsigned long long)b->bytes,
		       (unsigned long long)w->plan.counts.live_bytes >> 20);
}

/* Threads are numbered in the order of their first event; a new one in a later round means
 * that the file was changed. */
static int feed_event(struct feeding *w, const struct mz_event *ev)
{
	struct mz_op ops[MZ_PLAN_OPS];
	int n = mz_plan_event(&w->plan, ev, ops), ret = 0, queue = 0;

	if (n > 0 && w->f->threads)
		queue = mz_tids_number(&w->tids, ev);
	if (n < 0 || queue < 0)
		return mz_fail_memory(w->err);
	if (check_size(w) < 0)
		return -EFBIG;
	if ((unsigned)queue >= w->q->count)
		return mz_fail(w->err, EINVAL, "%s: the trace changed while it was being read",
			       w->f->name);
	for (int i = 0; i < n && !ret; i++)
		ret = put(w, (unsigned)queue, &ops[i], ev);
	return ret;
}

/* Hand on what the repair lets go. */
static int feed_repaired(struct feeding *w, struct mz_repair *fix)
{
	struct mz_event ev;
	int ret = mz_repair_pop(fix, &ev);

	if (ret < 0)
		return mz_fail_memory(w->err);
	return ret ? feed_event(w, &ev) : 0;
}

/* The recorder of the kernel orders events by one clock. An address that it shows given out twice
 * was freed where there is no tracepoint, so a later free is that of the second block. */
static bool is_ordered(const struct mz_reader *r)
{
	const struct mz_attr *source = mz_reader_find_attr(r, "source");

	return source && source->type == MZ_ATTR_TEXT && !strcmp(source->data, "kmemtrace");
}

/* Events that cannot be inverted bypass the repair window. */
static int feed_batch(struct feeding *w, struct mz_repair *fix, const struct mz_event *ev, long n)
{
	bool ordered = is_ordered(w->reader);
	int ret = 0;

	for (long i = 0; i < n && !ret; i++) {
		/* only where blocks have addresses can they be given out twice */
		if (ordered || (!(ev[i].has & MZ_HAS_ADDR) && !fix->count)) {
			ret = feed_event(w, &ev[i]);
			continue;
		}
		while (!ret && mz_repair_full(fix))
			ret = feed_repaired(w, fix);
		if (!ret)
			mz_repair_push(fix, &ev[i]);
	}
	return ret;
}

static int feed_trace(struct feeding *w)
{
	struct mz_event ev[MZ_BATCH];
	struct mz_reader *r = NULL;
	struct mz_repair fix;
	int ret = 0;
	long n;

	if (lseek(w->f->fd, 0, SEEK_SET) < 0 && errno != ESPIPE)
		return mz_fail(w->err, errno, "%s: %s", w->f->name, strerror(errno));
	r = open_reader(w->f->fd, w->f->name, w->f->flags, w->err);
	if (!r)
		return -errno;
	if (mz_repair_init(&fix) < 0) {
		mz_reader_close(r);
		return mz_fail_memory(w->err);
	}
	w->reader = r;
	while (!ret && (n = mz_reader_read_raw(r, ev, MZ_BATCH)) > 0)
		ret = feed_batch(w, &fix, ev, n);
	while (!ret && fix.count)
		ret = feed_repaired(w, &fix);
	if (!ret && n < 0) {
		*w->err = *mz_reader_error(r);
		ret = (int)n;
	}
	w->plan.counts.repaired = fix.repaired;
	w->plan.counts.end = mz_reader_early_end(r);
	mz_repair_deinit(&fix);
	mz_reader_close(r);
	return ret;
}

/* What is left is freed by the first thread. The other threads must be done
 * with the blocks: they are, because each block has its turn. */
static int feed_rest(struct feeding *w)
{
	struct mz_op ops[64];
	size_t n;
	int ret = 0;

	push_all(w);
	w->rest = true;
	while (!ret && (n = mz_plan_rest(&w->plan, ops, 64)) > 0)
		for (size_t i = 0; i < n && !ret; i++)
			ret = put(w, 0, &ops[i], NULL);
	if (!ret)
		push_all(w);
	w->rest = false;
	return ret;
}

static int end_round(struct feeding *w, bool end)
{
	for (unsigned i = 0; i < w->q->count; i++) {
		int ret = w->open[i] ? 0 : open_batch(w, i);

		if (ret < 0)
			return ret;
		push(w, i, true, end);
	}
	return 0;
}

static int feed_round(struct feeding *w, bool last)
{
	int ret;

	/* the slots go on from round to round: their turns must not begin again */
	w->plan.counts = (struct mz_plan_counts){0};
	w->plan.timed = false;
	ret = feed_trace(w);
	w->q->counts = w->plan.counts;
	if (!ret && w->f->print >= 0) {
		push_all(w);
		ret = mz_print_done(&w->print, SIZE_MAX);
		if (!ret)
			ret = mz_print_flush(&w->print);
	}
	if (!ret && (!last || w->f->free_rest))
		ret = feed_rest(w);
	if (!ret)
		ret = end_round(w, last);
	return ret;
}

int mz_feed_run(struct mz_feed *f)
{
	struct feeding w = {.f = f, .q = f->queues, .err = &f->queues->error};
	int ret = 0;

	w.open = calloc(f->queues->count, sizeof(*w.open));
	if (!w.open || mz_tids_init(&w.tids) < 0 || mz_plan_init(&w.plan, f->threads) < 0)
		ret = mz_fail_memory(w.err);
	if (!ret && f->print >= 0)
		ret = mz_print_init(&w.print, f->print, f->queues, w.err);
	for (unsigned i = 0; i < f->rounds && !ret; i++) {
		ret = feed_round(&w, i + 1 == f->rounds);
		if (f->print >= 0)
			f->print = -1; /* the rounds are alike: one is printed */
	}
	mz_print_deinit(&w.print);
	mz_plan_deinit(&w.plan);
	mz_tids_deinit(&w.tids);
	free(w.open);
	return ret;
}
