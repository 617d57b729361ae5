// SPDX-License-Identifier: BSD-2-Clause
/* Move events from the rings of a CPU to its file. */
/*
 * One thread per CPU does it, in batches. The BPF side wakes nothing; the thread polls often when
 * many events arrive, and seldom when few do.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "record/kmem_private.h"
#include "trace/writer.h"

#define BATCH	 1024
#define FLUSH_NS (2ull * 1000000000u)

#define ACQUIRE(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define RELAXED(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

static const uint8_t calls[KMT_KINDS] = {
	[KMT_KMALLOC] = MZ_CALL_KMALLOC,
	[KMT_KFREE] = MZ_CALL_KFREE,
	[KMT_CACHE_ALLOC] = MZ_CALL_KMEM_CACHE_ALLOC,
	[KMT_CACHE_FREE] = MZ_CALL_KMEM_CACHE_FREE,
	[KMT_PAGE_ALLOC] = MZ_CALL_PAGE_ALLOC,
	[KMT_PAGE_FREE] = MZ_CALL_PAGE_FREE,
	[KMT_VMALLOC] = MZ_CALL_VMALLOC,
	[KMT_VFREE] = MZ_CALL_VFREE,
	[KMT_PERCPU_ALLOC] = MZ_CALL_PERCPU_ALLOC,
	[KMT_PERCPU_FREE] = MZ_CALL_PERCPU_FREE,
};

static int keep_error(struct kmem_drain *d, int ret)
{
	if (ret < 0 && !d->err.code)
		d->err = *mz_writer_error(d->w);
	return ret;
}

static int flush_batch(struct kmem_drain *d)
{
	int ret = 0;

	if (d->batched)
		ret = keep_error(d, mz_writer_put(d->w, d->batch, d->batched));
	d->batched = 0;
	return ret;
}

/* ---- names -------------------------------------------------------------- */

static uint32_t cache_string(struct kmem_drain *d, uint16_t id)
{
	struct kmt_cache *c;

	if (!id || id >= KMT_CACHES)
		return 0;
	if (d->strings[id])
		return d->strings[id];
	c = &d->k->caches[(size_t)d->cpu * KMT_CACHES + id];
	if (!ACQUIRE(c->ready))
		return 0;
	d->strings[id] = mz_writer_string(d->w, c->name, strnlen(c->name, KMT_NAME));
	return d->strings[id];
}

/* A stack of the file; the addresses of new stacks are kept, so that they can be named. */
static uint32_t put_stack(struct kmem_drain *d, const uint64_t *ips, size_t n)
{
	uint32_t id = mz_writer_stack(d->w, ips, n);

	if (id > d->last_stack) {
		d->last_stack = id;
		mz_buf_add(&d->ips, ips, n * sizeof(*ips));
	}
	return id;
}

static uint32_t site_stack(struct kmem_drain *d, uint64_t site)
{
	size_t at = (size_t)((site * MZ_HASH_GOLDEN) >> 51) % KMEM_SITES;

	if (!site)
		return 0;
	if (d->site_keys[at] != site) {
		d->site_ids[at] = put_stack(d, &site, 1);
		d->site_keys[at] = site;
	}
	return d->site_ids[at];
}

/* The stack of the map as a stack of the file: all of it, the allocator's own frames included.
 * Which of them is the call site is decided by the reader, whose list of allocators may be
 * better than today's. */
static uint32_t file_stack(struct kmem_drain *d, uint32_t id)
{
	uint64_t ips[KMT_STACK_DEPTH] = {0};
	size_t n = 0;

	if (id >= KMEM_STACKS)
		return 0;
	if (d->stack_ids[id])
		return d->stack_ids[id];
	if (bpf_map_lookup_elem(d->k->stacks_fd, &id, ips))
		return 0;
	while (n < KMT_STACK_DEPTH && ips[n])
		n++;
	if (n)
		d->stack_ids[id] = put_stack(d, ips, n);
	return d->stack_ids[id];
}

/* ---- records ------------------------------------------------------------ */

static void convert(struct kmem_drain *d, const struct kmt_rec *r, unsigned kind,
		    struct mz_event *e)
{
	unsigned shift = kind == KMT_VMALLOC ? 12 : 0;

	*e = (struct mz_event){
		.time = r->time_kind & ((1ull << KMT_TIME_BITS) - 1),
		.addr = r->ptr,
		.call = calls[kind],
		.kind = (uint8_t)mz_call_kind(calls[kind]),
		.cpu = (int16_t)d->cpu,
		.pid = r->pid,
		.tid = r->tid,
		.has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_CPU | MZ_HAS_PID | MZ_HAS_TID,
	};
	if (e->kind == MZ_ALLOC) {
		e->size = (uint64_t)r->req << shift;
		e->given = (uint64_t)r->given << shift;
		e->flags = r->gfp;
		e->node = r->node;
		e->has |= MZ_HAS_GIVEN | MZ_HAS_FLAGS | MZ_HAS_NODE;
	}
	e->cache = cache_string(d, r->cache);
	if (e->cache)
		e->has |= MZ_HAS_CACHE;
	e->site = d->pending ? d->pending : site_stack(d, r->site);
	d->pending = 0;
	if (e->site)
		e->has |= MZ_HAS_SITE;
}

static int take(struct kmem_drain *d, const struct kmt_rec *r)
{
	unsigned kind = (unsigned)(r->time_kind >> KMT_TIME_BITS);
	struct mz_event *e = &d->batch[d->batched];

	if (kind == KMT_STACK) {
		d->pending = file_stack(d, (uint32_t)r->ptr);
		return 0;
	}
	if (!kind || kind >= KMT_KINDS)
		return mz_fail(&d->err, EBADMSG,
			       "%s: the ring contains a record of unknown kind %u", d->path, kind);
	convert(d, r, kind, e);
	/* times of one CPU go up; a nested event may have come a moment earlier */
	if (e->time < d->last_time)
		e->time = d->last_time;
	d->last_time = e->time;
	__atomic_store_n(&d->written, d->written + 1, __ATOMIC_RELAXED);
	return ++d->batched == BATCH ? flush_batch(d) : 0;
}

static const struct kmt_rec *record_at(const struct kmem_drain *d, unsigned lvl, uint64_t n)
{
	const struct mz_kmem *k = d->k;
	const struct kmt_rec *base =
		k->rings + (size_t)d->cpu * (k->ring + (KMT_LEVELS - 1) * (size_t)k->small);

	return lvl ? base + k->ring + (lvl - 1) * (size_t)k->small + (n & (k->small - 1))
		   : base + (n & (k->ring - 1));
}

/* The time of the event at n (its stack precedes it). */
static uint64_t time_at(const struct kmem_drain *d, unsigned lvl, uint64_t n, uint64_t head)
{
	const struct kmt_rec *r = record_at(d, lvl, n);

	if (r->time_kind >> KMT_TIME_BITS == KMT_STACK && n + 1 < head)
		r = record_at(d, lvl, n + 1);
	return r->time_kind & ((1ull << KMT_TIME_BITS) - 1);
}

static int take_at(struct kmem_drain *d, unsigned lvl, uint64_t *n)
{
	int ret = 0;
	bool stack;

	do {
		const struct kmt_rec *r = record_at(d, lvl, *n);

		stack = r->time_kind >> KMT_TIME_BITS == KMT_STACK;
		ret = take(d, r);
		(*n)++;
	} while (stack && !ret);
	return ret;
}

/*
 * All levels in the order of time. The head of level 0 is read first: an event of a deeper level
 * that precedes an event of level 0 was complete before it, so it is visible now at the latest.
 */
static long drain(struct kmem_drain *d, bool last)
{
	struct kmt_cpu *c = &d->k->cpus[d->cpu];
	uint64_t at[KMT_LEVELS], head[KMT_LEVELS];
	long taken = 0;
	int ret = 0;

	for (unsigned l = 0; l < KMT_LEVELS; l++) {
		head[l] = ACQUIRE(c->lv[l].head);
		at[l] = c->tail[l];
	}
	while (!ret) {
		unsigned best = KMT_LEVELS;
		uint64_t best_time = UINT64_MAX;

		/* the common case: nothing nested, so no times need comparing */
		if (at[1] == head[1] && at[2] == head[2] && at[3] == head[3])
			best = at[0] < head[0] ? 0 : KMT_LEVELS;
		else
			for (unsigned l = 0; l < KMT_LEVELS; l++) {
				uint64_t t = at[l] < head[l] ? time_at(d, l, at[l], head[l])
							     : UINT64_MAX;

				if (t < best_time) {
					best_time = t;
					best = l;
				}
			}
		if (best == KMT_LEVELS || (best && at[0] == head[0] && !last))
			break; /* a deeper event may belong before one yet to come */
		ret = take_at(d, best, &at[best]);
		taken++;
		if (!(taken & 4095))
			__atomic_store_n(&c->tail[best], at[best], __ATOMIC_RELEASE);
	}
	for (unsigned l = 0; l < KMT_LEVELS; l++)
		__atomic_store_n(&c->tail[l], at[l], __ATOMIC_RELEASE);
	return ret < 0 ? ret : taken;
}

/* ---- loss --------------------------------------------------------------- */

static int tell_lost(struct kmem_drain *d, uint64_t n, enum mz_loss cause, bool this_cpu,
		     uint64_t since)
{
	struct mz_event *e = &d->batch[d->batched];

	*e = (struct mz_event){
		.kind = MZ_LOST,
		.call = MZ_CALL_LOST,
		.time = d->last_time,
		.size = n,
		.arg = cause,
		.given = d->last_time > since ? d->last_time - since : 0,
		.cpu = (int16_t)d->cpu,
		.has = MZ_HAS_TIME | MZ_HAS_GIVEN | (this_cpu ? MZ_HAS_CPU : 0),
	};
	d->told_lost += n;
	return ++d->batched == BATCH ? flush_batch(d) : 0;
}

/* What was lost since the previous check. */
static void look_for_loss(struct kmem_drain *d)
{
	struct kmt_cpu *c = &d->k->cpus[d->cpu];
	uint64_t now = kmem_now(), full = 0, deep;

	for (unsigned l = 0; l < KMT_LEVELS; l++)
		full += RELAXED(c->lv[l].full);
	deep = RELAXED(c->deep);
	d->due.full = full - d->seen.full;
	d->due.deep = deep - d->seen.deep;
	d->due.since = d->looked;
	/* in this order: a count that changes in between is reported as older than it is */
	d->due.reentry_since = ACQUIRE(d->reentry_since);
	d->due.reentry = __atomic_exchange_n(&d->reentry, 0, __ATOMIC_ACQ_REL);
	d->seen.full = full;
	d->seen.deep = deep;
	d->looked = now;
}

/* Write a note into the file. */
static int tell_due(struct kmem_drain *d)
{
	const struct kmem_loss *l = &d->due;
	int ret = 0;

	if (l->full)
		ret = tell_lost(d, l->full, MZ_LOSS_RING_FULL, true, l->since);
	if (!ret && l->deep)
		ret = tell_lost(d, l->deep, MZ_LOSS_REENTRY, true, l->since);
	/* some kernels count these for all CPUs together */
	if (!ret && l->reentry)
		ret = tell_lost(d, l->reentry, MZ_LOSS_REENTRY, RELAXED(d->k->cpu_known),
				l->reentry_since);
	return ret;
}

/*
 * A note ends with the event that follows it. The losses found by one check are therefore written
 * after the next drain, when all events recorded before the check are in the file: otherwise the
 * following event might be older than the loss.
 */
static int drain_loss(struct kmem_drain *d, bool last)
{
	int ret = tell_due(d);

	look_for_loss(d);
	return !ret && last ? tell_due(d) : ret;
}

/* ---- the thread --------------------------------------------------------- */

/* Wait longer when few events came, and shorter when the ring filled. */
static void nap(struct kmem_drain *d, long taken, long *us)
{
	struct timespec t;

	if (taken > (long)d->k->ring / 8)
		*us = *us > 500 ? *us / 2 : 250;
	else if (*us < 20000)
		*us += *us / 4 + 1;
	t = (struct timespec){.tv_nsec = *us * 1000};
	if (taken < (long)d->k->ring / 4)
		nanosleep(&t, NULL);
}

void *kmem_drain_thread(void *arg)
{
	struct kmem_drain *d = arg;
	uint64_t flushed = kmem_now();
	long us = 1000, taken;
	bool last;

	setpriority(PRIO_PROCESS, 0, -15);
	do {
		last = ACQUIRE(d->k->stop);
		taken = drain(d, last);
		if (taken < 0 || drain_loss(d, last) < 0 || flush_batch(d) < 0)
			break;
		if (kmem_now() - flushed > FLUSH_NS) {
			if (keep_error(d, mz_writer_flush(d->w)) < 0)
				break;
			flushed = kmem_now();
		}
		if (!last)
			nap(d, taken, &us);
	} while (!last);
	/* a thread that sees the flag sees the whole error, which is not touched again */
	__atomic_store_n(&d->failed, d->err.code != 0, __ATOMIC_RELEASE);
	return NULL;
}

int kmem_drain_open(struct kmem_drain *d, bool overwrite, struct mz_error *err)
{
	struct mz_writer_options o = {.raw = true, .overwrite = overwrite};

	d->batch = malloc(BATCH * sizeof(*d->batch));
	d->site_keys = calloc(KMEM_SITES, sizeof(*d->site_keys));
	d->site_ids = calloc(KMEM_SITES, sizeof(*d->site_ids));
	d->stack_ids = calloc(KMEM_STACKS, sizeof(*d->stack_ids));
	if (!d->batch || !d->site_keys || !d->site_ids || !d->stack_ids)
		return mz_fail_memory(err);
	d->last_time = d->looked = d->k->start;
	d->w = mz_writer_open_file(d->path, &o, err);
	return d->w ? 0 : mz_error_code(err);
}
