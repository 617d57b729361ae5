// SPDX-License-Identifier: BSD-2-Clause
/* Sum the heap use of a program by call site in one pass: totals, peak, leaks, churn. */
#include "analysis/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history.h"
#include "trace/event.h"

#define NONE UINT32_MAX

/* There is one of these for every live block: they are most of the memory of a report. */
struct mz_usage_block {
	uint64_t size;
	uint64_t waste : 56;
	uint64_t weight : 8; /* it stands for 2^weight blocks */
	uint64_t born;	     /* by the clock of lifetimes */
	uint32_t turn;	     /* of its thread: how many allocations it had made, the lower half */
	union {
		uint32_t site;
		uint32_t next_spare; /* once it has ended */
	};
	uint32_t cache; /* 0 = none, or not requested */
	uint32_t tid;
};

/* A thread that has allocated. */
struct mz_usage_thread {
	uint64_t key;	 /* its tid + 1 */
	uint32_t number; /* in the order of their first allocation, from 1 */
	uint32_t turn;	 /* how many allocations it has made, the lower half */
};

/* There is also one of these for every live block, in a table that is partly empty. */
struct mz_usage_live {
	uint64_t key;
	uint32_t block;
};

int mz_usage_init(struct mz_usage *u)
{
	*u = (struct mz_usage){.spare = NONE};
	if (mz_u64_table_init(&u->live, sizeof(struct mz_usage_live)) < 0 ||
	    mz_u64_table_init(&u->tids, sizeof(struct mz_usage_thread)) < 0) {
		mz_usage_deinit(u);
		return -ENOMEM;
	}
	return 0;
}

void mz_usage_deinit(struct mz_usage *u)
{
	mz_u64_table_deinit(&u->live);
	mz_u64_table_deinit(&u->tids);
	free(u->blocks);
	free(u->sites);
	free(u->caches);
	free(u->thread_sums);
	*u = (struct mz_usage){0};
}

/* ---- tables ------------------------------------------------------------- */

/* Row n of a table that grows; NULL = no memory. */
static inline struct mz_usage_site *row_of(struct mz_usage_site **rows, uint32_t *rows_cap,
					   uint32_t n)
{
	if (n >= *rows_cap) {
		uint32_t cap = *rows_cap ? *rows_cap : 256;
		struct mz_usage_site *s;

		while (cap <= n && cap < 1u << 31)
			cap *= 2;
		s = n < cap ? realloc(*rows, cap * sizeof(*s)) : NULL;
		if (!s)
			return NULL;
		memset(s + *rows_cap, 0, (cap - *rows_cap) * sizeof(*s));
		*rows = s;
		*rows_cap = cap;
	}
	return &(*rows)[n];
}

static uint32_t new_block(struct mz_usage *u)
{
	uint32_t i = u->spare;

	if (i != NONE) {
		u->spare = u->blocks[i].next_spare;
		return i;
	}
	if (u->blocks_used == u->blocks_cap) {
		uint32_t cap = u->blocks_cap ? u->blocks_cap * 2 : 1024;
		struct mz_usage_block *b = realloc(u->blocks, cap * sizeof(*b));

		if (!b || cap >= NONE / 2) {
			u->blocks = b ? b : u->blocks;
			return NONE;
		}
		u->blocks = b;
		u->blocks_cap = cap;
	}
	return u->blocks_used++;
}

static void drop_block(struct mz_usage *u, uint32_t i)
{
	u->blocks[i].next_spare = u->spare;
	u->spare = i;
}

/* Rare, and therefore not inlined: it would take registers from every event. */
static __attribute__((noinline)) struct mz_usage_thread *look_up_thread(const struct mz_usage *u,
									uint64_t key)
{
	return mz_u64_table_find(&u->tids, key, sizeof(struct mz_usage_thread));
}

/* The thread's row, or NULL if it has not allocated yet. Most events are of the same thread as the
 * one before, whose row is remembered. */
static inline struct mz_usage_thread *find_thread(struct mz_usage *u, const struct mz_event *ev)
{
	uint64_t key = (ev->has & MZ_HAS_TID ? ev->tid : 0) + 1ull;

	if (!u->thread || u->thread->key != key)
		u->thread = look_up_thread(u, key);
	return u->thread;
}

/* A new row moves the others, but becomes the remembered one itself. Rare, too. */
static __attribute__((noinline)) struct mz_usage_thread *add_thread(struct mz_usage *u,
								    const struct mz_event *ev)
{
	uint64_t key = (ev->has & MZ_HAS_TID ? ev->tid : 0) + 1ull;
	bool fresh;

	u->thread = mz_u64_table_insert(&u->tids, key, sizeof(*u->thread), &fresh);
	if (u->thread)
		u->thread->number = (uint32_t)++u->threads;
	return u->thread;
}

/* ---- the peak ------------------------------------------------------------- */

/*
 * At a new peak, only the epoch is incremented. The bytes of a site at the peak are those that it
 * had when the epoch began; they are stored when the site changes next.
 */
static void before_change(const struct mz_usage *u, struct mz_usage_site *s)
{
	if (s->epoch != u->epoch) {
		s->epoch = u->epoch;
		s->sum.peak_bytes = s->sum.live_bytes;
		s->sum.peak_blocks = s->sum.live_blocks;
		s->sum.peak_waste = s->live_waste;
	}
}

static void check_peak(struct mz_usage *u, const struct mz_event *ev)
{
	if (u->all.sum.live_bytes <= u->all.sum.peak_bytes)
		return;
	u->epoch++;
	u->all.sum.peak_bytes = u->all.sum.live_bytes;
	u->all.sum.peak_waste = u->all.live_waste;
	u->peak_event = u->events;
	u->peak_time = ev->time;
	u->all.sum.peak_blocks = u->peak_blocks = u->all.sum.live_blocks;
}

/* What a block adds to every sum that it is in, with those that it stands for; computed once. */
struct share {
	uint64_t blocks, bytes, waste;
};

static struct share share_of(uint64_t size, uint64_t waste, unsigned weight)
{
	if (__builtin_expect(!weight, 1))
		return (struct share){1, size, waste};
	return (struct share){1ull << weight, size << weight, waste << weight};
}

/* Of all the blocks that it stands for. */
static inline uint64_t age_of(const struct mz_usage *u, const struct mz_usage_block *b)
{
	uint64_t age = u->now > b->born ? u->now - b->born : 0;

	if (__builtin_expect(b->weight && __builtin_mul_overflow(age, 1ull << b->weight, &age), 0))
		age = UINT64_MAX;
	return age;
}

static void add_block(struct mz_usage_site *s, struct share b)
{
	s->sum.blocks += b.blocks;
	s->sum.bytes += b.bytes;
	s->sum.waste += b.waste;
	s->sum.live_bytes += b.bytes;
	s->sum.live_blocks += b.blocks;
	s->live_waste += b.waste;
	if (s->sum.live_bytes > s->sum.max_bytes || !s->sum.max_blocks) {
		s->sum.max_bytes = s->sum.live_bytes;
		s->sum.max_blocks = s->sum.live_blocks;
	}
}

static void remove_block(struct mz_usage_site *s, struct share b, uint64_t age, bool temporary)
{
	s->sum.temporary += temporary;
	s->sum.lifetime = mz_heap_sum_plus(s->sum.lifetime, age);
	s->sum.live_bytes -= b.bytes;
	s->sum.live_blocks -= b.blocks;
	s->live_waste -= b.waste;
}

/* ---- events --------------------------------------------------------------- */

/* addr: 0 = not known; thread: the one that ended it, if it ever allocated; seen: it ended now.
 * Inlined into its two callers, because passing the arguments would cost as much as the work. */
static inline __attribute__((always_inline)) void end_block(struct mz_usage *u, uint32_t i,
							    uint64_t addr,
							    const struct mz_usage_thread *thread,
							    bool seen)
{
	struct mz_usage_block *b = &u->blocks[i];
	struct share all = share_of(b->size, b->waste, b->weight);
	uint64_t age = age_of(u, b);
	/* allocations after one that stands for others may be missing */
	bool temporary = thread && !b->weight && b->tid == thread->key && b->turn == thread->turn;

	before_change(u, &u->sites[b->site]);
	remove_block(&u->sites[b->site], all, age, temporary);
	remove_block(&u->all, all, age, temporary);
	if (b->cache) {
		before_change(u, &u->caches[b->cache]);
		remove_block(&u->caches[b->cache], all, age, temporary);
	}
	if (u->by_thread) {
		struct mz_usage_site *t = &u->thread_sums[look_up_thread(u, b->tid)->number];

		before_change(u, t);
		remove_block(t, all, age, temporary);
	}
	if (u->history)
		mz_history_went(u->history, addr, b->size, all.blocks, b->born, seen,
				u->all.sum.live_bytes, u->all.sum.live_blocks);
	drop_block(u, i);
}

/* The free of a block was never seen. All that is known is that it came before this event. */
static __attribute__((noinline)) void end_unseen(struct mz_usage *u, uint32_t i, uint64_t addr)
{
	u->over_live++;
	end_block(u, i, addr, NULL, false);
}

static void count_stood_for(struct mz_usage *u, struct share all, uint64_t size)
{
	u->sampled = true;
	u->stood_for += all.blocks - 1;
	u->stood_for_bytes += all.bytes - size;
}

/* weight: it stands for 2^weight blocks */
static int begin_block(struct mz_usage *u, const struct mz_event *ev, uint64_t key, unsigned weight)
{
	struct mz_usage_thread *thread = find_thread(u, ev);
	struct mz_usage_site *s = row_of(&u->sites, &u->sites_cap, ev->site), *c = NULL;
	struct mz_usage_site *t = NULL;
	uint64_t addr = ev->has & MZ_HAS_ADDR ? ev->addr : 0;
	uint64_t waste = ev->has & MZ_HAS_GIVEN && ev->given > ev->size ? ev->given - ev->size : 0;
	struct share all = share_of(ev->size, waste, weight);
	uint32_t i = new_block(u);
	struct mz_usage_block *b;
	struct mz_usage_live *l;
	bool fresh;

	if (!thread)
		thread = add_thread(u, ev);
	if (!thread || !s || i == NONE)
		return -ENOMEM;
	if (u->by_cache && ev->has & MZ_HAS_CACHE &&
	    !(c = row_of(&u->caches, &u->caches_cap, ev->cache)))
		return -ENOMEM;
	if (u->by_thread && !(t = row_of(&u->thread_sums, &u->thread_sums_cap, thread->number)))
		return -ENOMEM;
	l = mz_u64_table_insert(&u->live, key, sizeof(*l), &fresh);
	if (!l)
		return -ENOMEM;
	if (!fresh)
		end_unseen(u, l->block, addr);
	l->block = i;
	thread->turn++;
	b = &u->blocks[i];
	b->size = ev->size;
	b->waste = waste & UINT64_MAX >> 8;
	b->weight = weight & 0xff;
	b->turn = thread->turn;
	b->born = u->now;
	b->site = ev->site;
	b->cache = c ? ev->cache : 0;
	b->tid = (uint32_t)thread->key;
	if (__builtin_expect(weight, 0))
		count_stood_for(u, all, ev->size);
	before_change(u, s);
	add_block(s, all);
	add_block(&u->all, all);
	if (c && ev->cache) {
		before_change(u, c);
		add_block(c, all);
	}
	if (t) {
		before_change(u, t);
		add_block(t, all);
	}
	if (u->history)
		mz_history_came(u->history, addr, ev->size, all.blocks, u->all.sum.live_bytes,
				u->all.sum.live_blocks);
	check_peak(u, ev);
	return 0;
}

/* The block ends, if it is known, and is added to count. A part of a mapping that goes is not
 * followed. */
static void take_block(struct mz_usage *u, const struct mz_event *ev, uint64_t key, uint64_t *count)
{
	struct mz_usage_live *l = key ? mz_u64_table_find(&u->live, key, sizeof(*l)) : NULL;
	uint64_t blocks;

	if (!l || (ev->call == MZ_CALL_MUNMAP && ev->size < u->blocks[l->block].size)) {
		u->unknown++;
		return;
	}
	blocks = 1ull << u->blocks[l->block].weight;
	*count += blocks;
	if (ev->kind == MZ_FREE) /* one was counted already */
		u->calls[ev->call] += blocks - 1;
	end_block(u, l->block, u->history && ev->has & MZ_HAS_ADDR ? mz_event_key(ev, key) : 0,
		  find_thread(u, ev), true);
	mz_u64_table_remove(&u->live, l, sizeof(*l));
}

static int add_realloc(struct mz_usage *u, const struct mz_event *ev, uint64_t key, uint64_t old,
		       unsigned weight)
{
	if (!key && ev->size) {
		u->failed++; /* the old block stays */
		return 0;
	}
	u->reallocs += 1ull << weight;
	if (old)
		take_block(u, ev, old, &(uint64_t){0});
	return key ? begin_block(u, ev, key, weight) : 0;
}

/* Reads and writes are its block's, and so its site's. */
static void add_access(struct mz_usage *u, const struct mz_event *ev, uint64_t key)
{
	const struct mz_usage_live *l = key ? mz_u64_table_find(&u->live, key, sizeof(*l)) : NULL;

	if (l) {
		u->sites[u->blocks[l->block].site].sum.reads += ev->size;
		u->sites[u->blocks[l->block].site].sum.writes += ev->arg;
	}
	u->all.sum.reads += ev->size;
	u->all.sum.writes += ev->arg;
}

static void add_lost(struct mz_usage *u, const struct mz_event *ev)
{
	u->events--;
	u->sampled |= ev->arg == MZ_LOSS_SAMPLED;
	u->lost += ev->arg != MZ_LOSS_SAMPLED ? ev->size : 0;
	mz_count_lost(u->lost_by, ev);
}

/* It is counted, and the clock moves on. */
static inline void begin_event(struct mz_usage *u, const struct mz_event *ev)
{
	u->events++;
	if (ev->has & MZ_HAS_TIME) {
		if (!(u->fields & MZ_HAS_TIME)) /* 0 is a time, too */
			u->first_time = ev->time;
		u->last_time = ev->time;
	}
	u->fields |= ev->has;
	u->now = u->fields & MZ_HAS_TIME ? u->last_time : u->events;
	if (u->history && ev->kind != MZ_LOST)
		mz_history_tick(u->history, u->now, u->all.sum.live_bytes, u->all.sum.live_blocks);
}

/* Everything but plain allocations and frees. */
static __attribute__((noinline)) int add_other(struct mz_usage *u, const struct mz_event *ev,
					       uint64_t key, unsigned weight)
{
	bool by_addr = ev->has & MZ_HAS_ADDR;

	switch (ev->kind) {
	case MZ_REALLOC:
		return add_realloc(u, ev, key, by_addr ? ev->old_addr : ev->old_object, weight);
	case MZ_LOST: add_lost(u, ev); return 0;
	case MZ_ACCESS: add_access(u, ev, key); return 0;
	default: return 0;
	}
}

/* The rare kinds are not inlined: saving registers for them would cost every event more than the
 * rest of this function. */
int mz_usage_add(struct mz_usage *u, const struct mz_event *ev)
{
	unsigned weight = 0;
	uint64_t key;

	begin_event(u, ev);
	key = ev->has & MZ_HAS_ADDR ? mz_event_key(ev, ev->addr) : ev->object;
	if (__builtin_expect(ev->has & MZ_HAS_FLAGS, 0))
		weight = (unsigned)__builtin_ctz(mz_event_weight(ev));
	u->calls[ev->call] += 1ull << weight;
	if (ev->kind == MZ_FREE) {
		if (key || !(ev->has & MZ_HAS_ADDR))
			take_block(u, ev, key, &u->frees);
		else
			u->null_frees++;
		return 0;
	}
	if (ev->kind != MZ_ALLOC)
		return add_other(u, ev, key, weight);
	if (key) {
		u->allocs += 1ull << weight;
		return begin_block(u, ev, key, weight);
	}
	u->failed += ev->size != 0;
	return 0;
}

static void age_the_living(struct mz_usage *u)
{
	for (size_t i = 0; i <= u->live.mask; i++) {
		const struct mz_usage_live *l = mz_u64_table_slot(&u->live, i, sizeof(*l));
		const struct mz_usage_block *b;
		uint64_t age;

		if (!l->key)
			continue;
		b = &u->blocks[l->block];
		age = age_of(u, b);
		u->sites[b->site].sum.lifetime =
			mz_heap_sum_plus(u->sites[b->site].sum.lifetime, age);
		u->all.sum.lifetime = mz_heap_sum_plus(u->all.sum.lifetime, age);
	}
}

void mz_usage_end(struct mz_usage *u)
{
	for (uint32_t i = 0; i < u->sites_cap; i++)
		before_change(u, &u->sites[i]);
	for (uint32_t i = 0; i < u->caches_cap; i++)
		before_change(u, &u->caches[i]);
	for (uint32_t i = 0; i < u->thread_sums_cap; i++)
		before_change(u, &u->thread_sums[i]);
	age_the_living(u);
}

void mz_usage_merge(struct mz_usage *to, const struct mz_usage *u)
{
	to->events += u->events;
	to->allocs += u->allocs;
	to->frees += u->frees;
	to->reallocs += u->reallocs;
	to->failed += u->failed;
	to->null_frees += u->null_frees;
	to->unknown += u->unknown;
	to->over_live += u->over_live;
	to->lost += u->lost;
	to->sampled |= u->sampled;
	to->stood_for += u->stood_for;
	to->stood_for_bytes += u->stood_for_bytes;
	to->threads += u->threads;
	to->fields |= u->fields;
	to->peak_blocks += u->peak_blocks;
	for (unsigned i = 0; i < MZ_CALLS; i++)
		to->calls[i] += u->calls[i];
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		to->lost_by[i] += u->lost_by[i];
	mz_heap_sum_add(&to->all.sum, &u->all.sum);
}

uint64_t *mz_usage_tids(const struct mz_usage *u)
{
	uint64_t *tids = calloc(u->threads + 1, sizeof(*tids));

	for (size_t i = 0; tids && i <= u->tids.mask; i++) {
		const struct mz_usage_thread *t = mz_u64_table_slot(&u->tids, i, sizeof(*t));

		if (t->key)
			tids[t->number] = t->key - 1;
	}
	return tids;
}
