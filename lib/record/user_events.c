// SPDX-License-Identifier: BSD-2-Clause
/* Turn the records of a ring into events. */
#include "record/user_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "record/user_pools.h"
#include "trace/event.h"

#define MAX_TEXT 512u

/* What all programs together may keep in memory; see mz_user_files. */
#define ALL_STACKS  (2ull << 30) /* in files, for the most part: see trace/stack_tree.h */
#define ALL_TEXT    (16u << 20)
#define MAX_MODULES 4096u

#define SITE_PART (1u << (MZ_REC_SITE - MZ_REC_SIZE))

/* A program cannot lose more than this between two records. */
#define MOST_LOST (1ull << 40)

static struct mz_user_program *image_of(struct mz_user_rings *r, unsigned ring)
{
	uint32_t image = r->rings[ring].image;

	return image < MZ_IMAGES ? r->images[image] : NULL;
}

/* The program may write the record while it is read here: it is read once, and
 * only the copy is looked at. */
static struct mz_record read_once(const struct mz_record *from)
{
	uint64_t words[2] = {
		__atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED),
		__atomic_load_n(&from->value, __ATOMIC_RELAXED)};
	struct mz_record rec;

	memcpy(&rec, words, sizeof(rec));
	return rec;
}

/* Raw bytes in the records from n on. The region is shared with the program,
 * which may have gone wild: nothing is taken on trust. */
static void raw_bytes(struct mz_user_rings *r, unsigned ring, uint64_t n, void *out, size_t len)
{
	char *to = out;

	for (size_t done = 0; done < len; done += sizeof(struct mz_record), n++) {
		size_t part = len - done < sizeof(struct mz_record) ? len - done
								    : sizeof(struct mz_record);
		const struct mz_record *from = mz_user_at(r, ring, n);

		if (from) {
			struct mz_record rec = read_once(from);

			memcpy(to + done, &rec, part);
		} else {
			memset(to + done, 0, part);
		}
	}
}

static size_t raw_records(size_t bytes)
{
	return (bytes + sizeof(struct mz_record) - 1) / sizeof(struct mz_record);
}

/* ---- what is no event ------------------------------------------------------------- */

/* Where the stack goes in the file; what is beyond the room for stacks is left out, and
 * counts as not rooted. */
static int new_stack(struct mz_user_rings *r, struct mz_user_program *m, unsigned ring,
		     const struct mz_record *rec, uint64_t n)
{
	struct mz_user_told *told = &r->rings[ring].stack;
	uint64_t frames[MZ_STACK_PART], bytes;
	uint32_t *site;
	int ret;

	raw_bytes(r, ring, n, frames, rec->size * sizeof(*frames));
	ret = mz_user_told_add(told, rec, frames);
	if (ret == -ENOMEM)
		return mz_fail_memory(r->files->err);
	if (ret <= 0 || r->files->stack_bytes >= ALL_STACKS)
		return 0;
	site = mz_user_program_site(r->files, m, MZ_STACK_NUMBER(rec->value));
	if (!site)
		return 0;
	bytes = told->fresh * 26ull + 16;
	told->fresh = 0;
	*site = mz_user_told_site(told, m->writer, rec->arg);
	if (!mz_user_site_stack(*site))
		return mz_fail_memory(r->files->err);
	/* a stack that was sent before takes no more room */
	if (mz_user_site_stack(*site) > m->last_stack) {
		m->last_stack = mz_user_site_stack(*site);
		m->stack_bytes += bytes;
		r->files->stack_bytes += bytes;
	}
	return 0;
}

/* Adds a loss: events that happened and are not in the file. */
static int lose(struct mz_user_rings *r, struct mz_user_program *m, unsigned ring, unsigned cause,
		uint64_t count)
{
	struct mz_event ev = {.kind = MZ_LOST,
			      .call = MZ_CALL_LOST,
			      .has = MZ_HAS_TIME | MZ_HAS_TID,
			      .arg = cause,
			      .tid = r->rings[ring].tid,
			      .size = count < MOST_LOST ? count : MOST_LOST,
			      .time = m->last_time};

	return ev.size ? mz_user_program_add(r->files, m, &ev) : 0;
}

static int new_module(struct mz_user_rings *r, struct mz_user_program *m, uint64_t address,
		      const char *text, size_t len)
{
	char key[32], value[MAX_TEXT + 32];
	int ret;

	/* the library sends at most 1,024 modules */
	if (m->modules >= MAX_MODULES || r->files->text_bytes >= ALL_TEXT)
		return 0;
	snprintf(key, sizeof(key), "module.%u", m->modules++);
	snprintf(value, sizeof(value), "%llx %s", (unsigned long long)address, text);
	m->text_bytes += len;
	r->files->text_bytes += len;
	ret = mz_writer_set_text(m->writer, key, value);
	return ret == -ENOMEM ? mz_fail_memory(r->files->err) : 0;
}

/* A string that the file has already takes no room. */
static void count_text(struct mz_user_rings *r, struct mz_user_program *m, uint32_t string,
		       size_t len)
{
	if (string <= m->strings)
		return;
	m->strings = string;
	m->text_bytes += len + 32;
	r->files->text_bytes += len + 32;
}

static int new_text(struct mz_user_rings *r, struct mz_user_program *m, unsigned ring,
		    const struct mz_record *rec, uint64_t n)
{
	char text[MAX_TEXT + 1];
	struct mz_event ev = {
		.kind = MZ_MARK, .call = MZ_CALL_MARK, .has = MZ_HAS_TIME | MZ_HAS_TID};

	raw_bytes(r, ring, n, text, rec->size);
	text[rec->size] = '\0';
	if (rec->type == MZ_REC_MODULE)
		return new_module(r, m, rec->value, text, rec->size);
	if (r->files->text_bytes >= ALL_TEXT)
		return lose(r, m, ring, MZ_LOSS_NO_MEMORY, 1);
	ev.arg = mz_writer_string(m->writer, text, rec->size);
	count_text(r, m, (uint32_t)ev.arg, rec->size);
	ev.time = mz_user_time(r, r->rings[ring].time);
	ev.tid = r->rings[ring].tid;
	return ev.arg ? mz_user_program_add(r->files, m, &ev) : mz_fail_memory(r->files->err);
}

static int new_pool(struct mz_user_rings *r, struct mz_user_program *m, unsigned ring,
		    const struct mz_record *rec, uint64_t n)
{
	char text[MAX_TEXT];
	uint32_t name;

	raw_bytes(r, ring, n, text, rec->size);
	if (r->files->text_bytes >= ALL_TEXT)
		return 0;
	if (!m->pools) {
		m->pools = mz_user_pools_new();
		if (m->pools)
			m->pools->all = &r->files->pool_blocks;
	}
	name = m->pools ? mz_writer_string(m->writer, text, rec->size) : 0;
	count_text(r, m, name, rec->size);
	if (!name || mz_user_pools_add(m->pools, rec->value, name) < 0)
		return mz_fail_memory(r->files->err);
	return 0;
}

static void note_thinning(struct mz_user_program *m, uint64_t first, uint64_t last)
{
	struct mz_user_thinning *t = &m->thinning;

	t->first = !t->last || first < t->first ? first : t->first;
	t->last = last > t->last ? last : t->last;
}

/* The loss carries the time at which it began, so that readers can show the interval and not
 * only its end. */
static int note_lost(struct mz_user_rings *r, struct mz_user_program *m, unsigned ring,
		     const struct mz_record *rec, uint64_t n)
{
	struct mz_event ev = {.kind = MZ_LOST,
			      .call = MZ_CALL_LOST,
			      .has = MZ_HAS_TIME | MZ_HAS_TID,
			      .size = rec->value < MOST_LOST ? rec->value : MOST_LOST,
			      .arg = rec->arg < MZ_LOSSES ? rec->arg : MZ_LOSS_UNKNOWN,
			      .tid = r->rings[ring].tid,
			      .time = mz_user_time(r, r->rings[ring].time)};
	uint64_t since;

	raw_bytes(r, ring, n, &since, sizeof(since));
	if (since < r->rings[ring].time)
		ev.given = ev.time - mz_user_time(r, since);
	if (ev.arg == MZ_LOSS_SAMPLED) {
		r->rings[ring].thinned_told += ev.size;
		note_thinning(m, ev.time - ev.given, ev.time);
		return mz_user_program_add(r->files, m, &ev);
	}
	r->rings[ring].told += ev.size;
	/* a realloc that has begun is probably among the lost events: no thread may wait for its
	 * end */
	r->begun -= r->rings[ring].old != 0;
	r->rings[ring].old = 0;
	return mz_user_program_add(r->files, m, &ev);
}

/* Records after this one that belong to it; -1 = this is no record at all. */
static long following(const struct mz_record *rec)
{
	switch (rec->type) {
	case MZ_REC_LOST: return 1;
	case MZ_REC_MARK:
	case MZ_REC_POOL_NAME:
	case MZ_REC_MODULE: return rec->size <= MAX_TEXT ? (long)raw_records(rec->size) : -1;
	case MZ_REC_STACK:
		return rec->size <= MZ_STACK_PART ? (long)raw_records(rec->size * sizeof(uint64_t))
						  : -1;
	default: return 0;
	}
}

/* ---- events ------------------------------------------------------------------------ */

static void set_array(struct mz_event *ev, bool whole)
{
	uint64_t total;

	/* size came as that of one element, unless the count fitted the record */
	if (!whole)
		return;
	if (__builtin_mul_overflow(ev->size, ev->arg, &total)) {
		ev->unit = MZ_UNIT_OVERFLOW;
		return;
	}
	if (!ev->arg)
		ev->unit = ev->size < MZ_UNIT_OVERFLOW ? (uint32_t)ev->size : MZ_UNIT_OVERFLOW - 1;
	ev->size = total;
}

/* A part of the call that did not fit the record, or what the record has. */
static uint64_t part_or(const struct mz_user_ring *ring, unsigned type, uint64_t value)
{
	unsigned i = type - MZ_REC_SIZE;

	return ring->parts & 1u << i ? ring->part[i] : value;
}

static uint64_t block_address(const struct mz_user_ring *ring, const struct mz_record *rec)
{
	return rec->type < MZ_CALL_FREE
		       ? part_or(ring, MZ_REC_ADDR, rec->value & ((1ull << MZ_ADDR_BITS) - 1))
		       : rec->value;
}

/* Small values are in the record itself; those that do not fit came in parts before it, which
 * part_or() prefers. */
static void set_args(struct mz_user_ring *ring, const struct mz_record *rec, struct mz_event *ev)
{
	if (ev->call < MZ_CALL_MMAP) {
		ev->has |= MZ_HAS_GIVEN;
		if (ev->addr)
			ev->given = part_or(ring, MZ_REC_GIVEN,
					    ev->size + (rec->value >> MZ_ADDR_BITS));
	}
	switch (ev->call) {
	case MZ_CALL_CALLOC:
	case MZ_CALL_REALLOCARRAY:
		ev->arg = part_or(ring, MZ_REC_ARG, rec->arg);
		set_array(ev, rec->arg == MZ_ARG_EXTRA);
		break;
	case MZ_CALL_ALIGNED_ALLOC:
	case MZ_CALL_MEMALIGN:
	case MZ_CALL_POSIX_MEMALIGN:
		ev->arg = part_or(ring, MZ_REC_ARG, 1ull << (rec->arg & 63));
		break;
	default: break;
	}
}

/* The event is of a block of a pool. 0 or -ENOMEM. */
static int set_pool(struct mz_user_program *m, uint64_t number, struct mz_event *ev)
{
	if (!m->pools)
		return 0;
	ev->cache = mz_user_pools_name(m->pools, number);
	if (ev->cache)
		ev->has |= MZ_HAS_CACHE;
	if (ev->kind == MZ_ALLOC)
		return mz_user_pools_came(m->pools, number, ev->addr);
	mz_user_pools_went(m->pools, number, ev->addr);
	return 0;
}

/* A reset ends all blocks of a pool: a free of each. */
static int reset_pool(struct mz_user_rings *r, struct mz_user_program *m, unsigned i,
		      const struct mz_record *rec)
{
	struct mz_event ev = {.kind = MZ_FREE,
			      .call = MZ_CALL_FREE,
			      .has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID,
			      .tid = r->rings[i].tid,
			      .time = mz_user_time(r, r->rings[i].time)};
	int ret = 0;

	if (!m->pools)
		return 0;
	ev.cache = mz_user_pools_name(m->pools, rec->value);
	ev.has |= ev.cache ? MZ_HAS_CACHE : 0;
	while (!ret && (ev.addr = mz_user_pools_take(m->pools, rec->value)))
		ret = mz_user_program_add(r->files, m, &ev);
	if (ret)
		return ret;
	ev = (struct mz_event){.kind = MZ_LOST,
			       .call = MZ_CALL_LOST,
			       .has = MZ_HAS_TIME | MZ_HAS_TID,
			       .arg = MZ_LOSS_NO_MEMORY,
			       .tid = ev.tid,
			       .size = mz_user_pools_end(m->pools, rec->value, rec->arg),
			       .time = ev.time};
	return ev.size ? mz_user_program_add(r->files, m, &ev) : 0;
}

/* The stack of an allocation, if it is known. */
static inline void set_site(struct mz_user_program *m, uint64_t number, struct mz_event *ev)
{
	uint32_t site = mz_user_program_known(m, number);

	if (site) {
		ev->site = mz_user_site_stack(site);
		ev->has |= MZ_HAS_SITE;
	}
	mz_user_stacks_count(&m->stacks, site);
}

static void set_weight(struct mz_user_program *m, uint64_t weight, struct mz_event *ev)
{
	if (weight < 2 || weight > MZ_WEIGHT_MOST || ev->call > MZ_CALL_PVALLOC)
		return;
	ev->flags = (uint32_t)weight;
	ev->has |= MZ_HAS_FLAGS;
	if (weight > m->thinning.weight)
		m->thinning.weight = (uint32_t)weight;
}

/* What came in parts before the call: sizes are set below, and this is the rest. */
static int set_parts(struct mz_user_program *m, const struct mz_user_ring *ring,
		     struct mz_event *ev)
{
	uint64_t site = part_or(ring, MZ_REC_SITE, 0);

	if (site)
		set_site(m, site, ev);
	set_weight(m, part_or(ring, MZ_REC_WEIGHT, 0), ev);
	return ring->parts & 1u << (MZ_REC_POOL - MZ_REC_SIZE)
		       ? set_pool(m, part_or(ring, MZ_REC_POOL, 0), ev)
		       : 0;
}

/* The record that completes a call consumes the parts collected before it. */
static inline int add_event(struct mz_user_rings *r, struct mz_user_program *m, unsigned i,
			    const struct mz_record *rec)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_event *ev = mz_user_program_next(m);

	ev->kind = (uint8_t)mz_calls[rec->type].kind;
	ev->call = rec->type;
	ev->has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID;
	ev->addr = block_address(ring, rec);
	ev->size = part_or(ring, MZ_REC_SIZE, rec->size);
	ev->tid = ring->tid;
	ev->time = mz_user_time(r, ring->time);
	if (ring->parts && set_parts(m, ring, ev) < 0)
		return mz_fail_memory(r->files->err);
	if (ev->kind != MZ_FREE)
		set_args(ring, rec, ev);
	if (ev->kind == MZ_REALLOC) {
		ev->old_addr = ring->old;
		r->begun -= ring->old != 0;
		ring->old = 0;
	}
	ring->parts = 0;
	return mz_user_program_made(r->files, m);
}

/* The same for a malloc or free whose record has everything but the stack, as nine in ten have. */
static inline int add_plain(struct mz_user_rings *r, struct mz_user_program *m, unsigned i,
			    const struct mz_record *rec)
{
	struct mz_user_ring *ring = &r->rings[i];
	bool begins = rec->type == MZ_CALL_MALLOC;
	struct mz_event *ev;

	if (!(begins || rec->type == MZ_CALL_FREE) || ring->parts & ~SITE_PART)
		return add_event(r, m, i, rec);
	ev = mz_user_program_next(m);
	ev->kind = begins ? MZ_ALLOC : MZ_FREE;
	ev->call = rec->type;
	ev->has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID;
	ev->addr = rec->value;
	ev->size = rec->size;
	ev->tid = ring->tid;
	ev->time = mz_user_time(r, ring->time);
	if (begins) {
		ev->addr = rec->value & ((1ull << MZ_ADDR_BITS) - 1);
		ev->has |= MZ_HAS_GIVEN;
		ev->given = ev->addr ? ev->size + (rec->value >> MZ_ADDR_BITS) : 0;
	}
	if (ring->parts && ring->part[MZ_REC_SITE - MZ_REC_SIZE])
		set_site(m, ring->part[MZ_REC_SITE - MZ_REC_SIZE], ev);
	ring->parts = 0;
	return mz_user_program_made(r->files, m);
}

static int take(struct mz_user_rings *r, struct mz_user_program *m, unsigned i,
		const struct mz_record *rec, uint64_t next)
{
	struct mz_user_ring *ring = &r->rings[i];

	switch (rec->type) {
	case MZ_REC_TIME: return 0;
	case MZ_REC_SIZE:
	case MZ_REC_GIVEN:
	case MZ_REC_ARG:
	case MZ_REC_ADDR:
	case MZ_REC_SITE:
	case MZ_REC_POOL:
	case MZ_REC_WEIGHT:
		ring->part[rec->type - MZ_REC_SIZE] = rec->value;
		ring->parts |= 1u << (rec->type - MZ_REC_SIZE);
		return 0;
	case MZ_REC_THREAD:
		/* the thread that had the ring before was ended inside a realloc */
		r->begun -= ring->old != 0;
		ring->old = 0;
		ring->tid = (uint32_t)rec->value;
		return 0;
	case MZ_REC_BEGIN:
		r->begun += !ring->old && rec->value;
		ring->old = rec->value;
		return 0;
	case MZ_REC_LOST: return note_lost(r, m, i, rec, next);
	case MZ_REC_STACK: return new_stack(r, m, i, rec, next);
	case MZ_REC_POOL_NAME: return new_pool(r, m, i, rec, next);
	case MZ_REC_POOL_RESET: return reset_pool(r, m, i, rec);
	case MZ_REC_MARK:
	case MZ_REC_MODULE: return new_text(r, m, i, rec, next);
	default: return add_event(r, m, i, rec);
	}
}

int mz_user_skip(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_user_program *m = image_of(r, i);
	uint64_t records = ring->seen - ring->tail;

	ring->tail = ring->seen;
	r->records += records;
	return m ? lose(r, m, i, MZ_LOSS_DAMAGE, records) : 0;
}

static bool is_sound(const struct mz_user_ring *ring, const struct mz_record *rec, long more)
{
	bool known = (rec->type > MZ_CALL_NONE && rec->type <= MZ_CALL_BRK) ||
		     (rec->type >= MZ_REC_TIME && rec->type < MZ_REC_END);

	return known && more >= 0 && (uint64_t)more < ring->seen - ring->tail;
}

/* A record that makes no sense is garbage written by a program gone wild: it is counted as a
 * loss, and the ring continues. An allocation of an address that a realloc of another thread
 * is about to release must wait for that realloc. */
int mz_user_unit(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_user_program *m = image_of(r, i);
	const struct mz_record *from = mz_user_at(r, i, ring->tail);
	struct mz_record rec = from ? read_once(from) : (struct mz_record){0};
	long more = following(&rec);
	enum mz_kind kind = rec.type < MZ_CALLS ? mz_call_kind(rec.type) : MZ_NONE;
	int ret;

	if (!m || !is_sound(ring, &rec, more))
		return mz_user_skip(r, i);
	if (r->begun > (ring->old != 0) && (kind == MZ_ALLOC || kind == MZ_REALLOC) && rec.value) {
		ret = mz_user_settle_realloc(r, i, block_address(ring, &rec));
		if (ret <= 0) {
			r->blocked = true;
			return ret;
		}
	}
	ring->time = mz_user_first_time(r, i);
	ret = take(r, m, i, &rec, ring->tail + 1);
	ring->tail += 1 + (uint64_t)more;
	r->records += 1 + (uint64_t)more;
	return ret;
}

/* Which records mz_user_plain() takes: calls that are events by themselves, and records that no
 * other record must follow. */
static inline bool is_plain(unsigned type)
{
	return (type > MZ_CALL_NONE && type <= MZ_CALL_FREE) ||
	       (type >= MZ_REC_TIME && type <= MZ_REC_WEIGHT) || type == MZ_REC_BEGIN;
}

/* Another thread is inside a realloc, whose old block this record may begin: see
 * mz_user_unit(). */
static inline bool may_have_to_wait(const struct mz_user_rings *r, const struct mz_user_ring *ring,
				    const struct mz_record *rec)
{
	return __builtin_expect(r->begun > (ring->old != 0), 0) && rec->type < MZ_CALL_FREE &&
	       rec->value;
}

/* The buffer is our own memory, which no program can change. A value may therefore be read twice,
 * and the type alone shows that a plain record is sound. */
int mz_user_plain(struct mz_user_rings *r, unsigned i, uint64_t upto)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_user_program *m = image_of(r, i);
	const struct mz_spool_queue *q = &ring->queue;
	uint64_t end = q->buf_first + q->buf_count, first = ring->tail;
	int ret = 0;

	end = end < ring->seen ? end : ring->seen;
	if (!m || first < q->buf_first)
		return 0;
	while (!ret && ring->tail < end) {
		const struct mz_record *rec = &q->buf[ring->tail - q->buf_first];
		uint64_t time = mz_user_whole_time(ring, rec);

		time = time < r->latest ? time : r->latest;
		if (!is_plain(rec->type) || time > upto || may_have_to_wait(r, ring, rec)) {
			/* the merge will need this time next */
			ring->next = time;
			ring->next_of = ring->tail + 1;
			break;
		}
		ring->time = time;
		ring->tail++;
		if (rec->type == MZ_REC_SITE) {
			ring->part[MZ_REC_SITE - MZ_REC_SIZE] = rec->value;
			ring->parts |= SITE_PART;
		} else if (rec->type < MZ_REC_TIME) {
			ret = add_plain(r, m, i, rec);
		} else {
			ret = take(r, m, i, rec, ring->tail);
		}
	}
	r->records += ring->tail - first;
	return ret;
}

void mz_user_ring_ended(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];

	r->begun -= ring->old != 0;
	mz_spool_queue_free(&ring->queue);
	mz_user_told_free(&ring->stack);
	*ring = (struct mz_user_ring){.tail = ring->tail,
				      .seen = ring->tail,
				      .told = ring->told,
				      .thinned_told = ring->thinned_told,
				      .counted = ring->counted,
				      .base = ring->base,
				      .image = MZ_IMAGES,
				      .moved_for = MZ_IMAGES,
				      .queue = ring->queue};
}

/* What the program counted in this ring since the last check. The counts are its own to write: they
 * are added up, and nothing depends on them. */
static void add_unrecorded(struct mz_user_rings *r, struct mz_user_program *m, unsigned i)
{
	const struct mz_ring *ring = &r->region->rings[i];
	struct mz_user_unrecorded *sum = &m->thinning.unrecorded, *was = &r->rings[i].counted;
	struct mz_user_unrecorded now = {.allocs = __atomic_load_n(&ring->allocs, __ATOMIC_RELAXED),
					 .bytes = __atomic_load_n(&ring->bytes, __ATOMIC_RELAXED),
					 .frees = __atomic_load_n(&ring->frees, __ATOMIC_RELAXED)};

	sum->allocs += now.allocs - was->allocs;
	sum->bytes += now.bytes - was->bytes;
	sum->frees += now.frees - was->frees;
	*was = now;
}

/* Drops that the program counted but could not report, because the ring stayed full to its
 * end; and what was left out by thinning last. */
int mz_user_untold(struct mz_user_rings *r, unsigned image, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_user_program *m = r->images[image];
	uint64_t dropped = __atomic_load_n(&r->region->rings[i].dropped, __ATOMIC_RELAXED);
	uint64_t thinned = __atomic_load_n(&r->region->rings[i].thinned, __ATOMIC_RELAXED);
	uint64_t more = dropped > ring->told ? dropped - ring->told : 0;
	uint64_t left_out = thinned > ring->thinned_told ? thinned - ring->thinned_told : 0;
	int ret;

	ring->told = dropped;
	ring->thinned_told = thinned;
	add_unrecorded(r, m, i);
	if (left_out)
		note_thinning(m, m->last_time, m->last_time);
	ret = lose(r, m, i, MZ_LOSS_RING_FULL, more);
	return ret ? ret : lose(r, m, i, MZ_LOSS_SAMPLED, left_out);
}

int mz_user_missed(struct mz_user_rings *r, unsigned image)
{
	struct mz_user_program *m = r->images[image];
	struct mz_program_slot *slot = &r->region->images[image];
	uint64_t missed = __atomic_load_n(&slot->missed, __ATOMIC_RELAXED);
	struct mz_event ev = {.kind = MZ_LOST,
			      .call = MZ_CALL_LOST,
			      .has = MZ_HAS_TIME,
			      .arg = MZ_LOSS_NO_MEMORY,
			      .size = missed < MOST_LOST ? missed : MOST_LOST,
			      .time = m->last_time};

	m->left = __atomic_load_n(&slot->left, __ATOMIC_RELAXED);
	m->blind = __atomic_load_n(&slot->blind, __ATOMIC_RELAXED);
	m->waits.count = __atomic_load_n(&slot->waits, __ATOMIC_RELAXED);
	m->waits.ns = __atomic_load_n(&slot->waited, __ATOMIC_RELAXED);
	m->waits.longest = __atomic_load_n(&slot->longest, __ATOMIC_RELAXED);
	mz_user_program_has(m, __atomic_load_n(&slot->anonymous, __ATOMIC_RELAXED));
	if (m->left == MZ_LEFT_SECCOMP)
		ev.arg = MZ_LOSS_SANDBOX;
	else if (m->left == MZ_LEFT_WAIT)
		ev.arg = MZ_LOSS_RING_FULL;
	return ev.size ? mz_user_program_add(r->files, m, &ev) : 0;
}
