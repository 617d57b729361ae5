// SPDX-License-Identifier: BSD-2-Clause
/* Translate events into replay operations on numbered slots. */
#include "replay/plan.h"
#include "trace/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024
#define BLOCK	    sizeof(struct mz_plan_block)

/* Slot 0 stands for NULL and is never assigned. */
int mz_plan_init(struct mz_plan *p, bool oldest_first)
{
	*p = (struct mz_plan){.oldest_first = oldest_first, .slots = 1, .slots_cap = FIRST_SLOTS};
	p->turns = calloc(FIRST_SLOTS, sizeof(*p->turns));
	p->spare = malloc(FIRST_SLOTS * sizeof(*p->spare));
	p->spare_cap = FIRST_SLOTS;
	if (!p->turns || !p->spare || mz_u64_table_init(&p->live, BLOCK) < 0) {
		mz_plan_deinit(p);
		return -ENOMEM;
	}
	return 0;
}

void mz_plan_deinit(struct mz_plan *p)
{
	mz_u64_table_deinit(&p->live);
	free(p->turns);
	free(p->spare);
	*p = (struct mz_plan){0};
}

/* ---- slots -------------------------------------------------------------- */

static int more_slots(struct mz_plan *p)
{
	uint32_t cap = p->slots_cap > MZ_SLOT_MAX / 2 ? MZ_SLOT_MAX : p->slots_cap * 2;
	uint16_t *turns = realloc(p->turns, cap * sizeof(*turns));

	if (!turns)
		return -ENOMEM;
	memset(turns + p->slots_cap, 0, (cap - p->slots_cap) * sizeof(*turns));
	p->turns = turns;
	p->slots_cap = cap;
	return 0;
}

/* The ring is unrolled into one twice as long. */
static int more_spare(struct mz_plan *p)
{
	uint32_t *ring = malloc(p->spare_cap * 2 * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < p->spare_count; i++)
		ring[i] = p->spare[(p->spare_at + i) & (p->spare_cap - 1)];
	free(p->spare);
	p->spare = ring;
	p->spare_at = 0;
	p->spare_cap *= 2;
	return 0;
}

/* 0 = no memory. There is room in the spare ring for every slot handed out. */
static uint32_t take_slot(struct mz_plan *p)
{
	if (p->spare_count) {
		size_t at = p->spare_at;

		if (p->oldest_first)
			p->spare_at = (at + 1) & (p->spare_cap - 1);
		else
			at = (at + p->spare_count - 1) & (p->spare_cap - 1);
		p->spare_count--;
		return p->spare[at];
	}
	if (p->slots == MZ_SLOT_MAX || (p->slots == p->slots_cap && more_slots(p) < 0) ||
	    (p->slots >= p->spare_cap && more_spare(p) < 0))
		return 0;
	return p->slots++;
}

static void give_back(struct mz_plan *p, uint32_t slot)
{
	p->spare[(p->spare_at + p->spare_count++) & (p->spare_cap - 1)] = slot;
}

/* ---- blocks ------------------------------------------------------------- */

static void came(struct mz_plan *p, uint64_t size)
{
	struct mz_plan_counts *c = &p->counts;

	c->live_bytes += size;
	c->live_blocks++;
	if (c->live_bytes > c->peak_bytes)
		c->peak_bytes = c->live_bytes;
	if (c->live_blocks > c->peak_blocks)
		c->peak_blocks = c->live_blocks;
}

static void went(struct mz_plan *p, const struct mz_plan_block *b)
{
	p->counts.live_bytes -= b->size;
	p->counts.live_blocks--;
}

static void set_turn(struct mz_plan *p, struct mz_op *op)
{
	if (op->slot != MZ_SLOT_NULL)
		op->turn = p->turns[op->slot]++;
}

/* The slot may be reused at once: its turn number keeps the next operation on it behind this
 * one. */
static void free_op(struct mz_plan *p, struct mz_op *op, const struct mz_plan_block *b,
		    uint8_t flags)
{
	op->call = MZ_CALL_FREE;
	op->slot = b->slot;
	op->flags = flags;
	set_turn(p, op);
	give_back(p, op->slot);
	went(p, b);
}

/* The block that key means from now on, in slot. A block that is still there
 * was freed without the trace seeing it: it is freed now, by one more op. */
static int begin(struct mz_plan *p, uint64_t key, uint64_t size, uint32_t slot, struct mz_op *late)
{
	bool fresh;
	struct mz_plan_block *b = mz_u64_table_insert(&p->live, key, BLOCK, &fresh);

	if (!b)
		return -ENOMEM;
	if (!fresh) {
		free_op(p, late, b, MZ_OP_LATE);
		p->counts.late_frees++;
	}
	b->size = size;
	b->slot = slot;
	came(p, size);
	return !fresh;
}

/* The arguments as they were passed. */
static void set_args(struct mz_op *op, const struct mz_event *ev)
{
	op->size = ev->size;
	op->arg = ev->arg;
	if (ev->call != MZ_CALL_CALLOC && ev->call != MZ_CALL_REALLOCARRAY)
		return;
	if (!ev->arg)
		op->size = ev->unit;
	else if (ev->unit != MZ_UNIT_OVERFLOW)
		op->size = ev->size / ev->arg;
}

/* Puts a late free, if one is needed, before the operation itself. */
static int with_late(struct mz_op *ops, const struct mz_op *late)
{
	ops[1] = ops[0];
	ops[0] = *late;
	ops[0].time = ops[1].time;
	return 2;
}

/* A call that failed in the trace gets no slot; what it returns here is freed by the engine. */
static int plan_alloc(struct mz_plan *p, const struct mz_event *ev, uint64_t key, struct mz_op *ops)
{
	struct mz_op late = {0};
	int extra;

	set_args(&ops[0], ev);
	if (!key) {
		ops[0].flags = MZ_OP_NOTHING;
		return 1;
	}
	ops[0].slot = take_slot(p);
	if (!ops[0].slot)
		return -ENOMEM;
	extra = begin(p, key, ev->size, ops[0].slot, &late);
	if (extra < 0)
		return extra;
	set_turn(p, &ops[0]);
	return extra ? with_late(ops, &late) : 1;
}

/* The slot of the old block becomes that of the new one, so that no operation on it can be
 * overtaken. */
static int plan_realloc(struct mz_plan *p, const struct mz_event *ev, uint64_t old, uint64_t key,
			bool unknown, struct mz_op *ops)
{
	struct mz_plan_block *b = old ? mz_u64_table_find(&p->live, old, BLOCK) : NULL;
	bool keeps = !key && ev->size; /* it failed: the old block stays */
	struct mz_op late = {0};
	int extra = 0;

	set_args(&ops[0], ev);
	if (ev->call == MZ_CALL_REALLOC)
		ops[0].arg = b ? b->size : 0;
	if ((old && !b) || unknown)
		p->counts.unknown_olds++;
	if (!key)
		ops[0].flags = MZ_OP_NOTHING;
	if (keeps || (!key && !b)) {
		ops[0].slot = b ? b->slot : MZ_SLOT_NULL;
		set_turn(p, &ops[0]);
		return 1;
	}
	ops[0].slot = b ? b->slot : take_slot(p);
	if (!ops[0].slot)
		return -ENOMEM;
	if (b) {
		went(p, b);
		mz_u64_table_remove(&p->live, b, BLOCK);
	}
	if (key) {
		extra = begin(p, key, ev->size, ops[0].slot, &late);
		if (extra < 0)
			return extra;
	}
	set_turn(p, &ops[0]);
	if (!key)
		give_back(p, ops[0].slot);
	return extra ? with_late(ops, &late) : 1;
}

static int plan_free(struct mz_plan *p, uint64_t key, bool unknown, struct mz_op *ops)
{
	struct mz_plan_block *b = key ? mz_u64_table_find(&p->live, key, BLOCK) : NULL;

	if ((key && !b) || unknown) {
		p->counts.unknown_frees++;
		return 0;
	}
	ops[0].call = MZ_CALL_FREE;
	if (b) {
		free_op(p, &ops[0], b, 0);
		mz_u64_table_remove(&p->live, b, BLOCK);
	}
	return 1;
}

/* Mappings do not concern an allocator; kernel calls are replayed as malloc and free, which they
 * resemble most. */
static bool is_call(const struct mz_event *ev)
{
	switch (ev->call) {
	case MZ_CALL_MMAP:
	case MZ_CALL_MUNMAP:
	case MZ_CALL_MREMAP:
	case MZ_CALL_BRK: return false;
	default: return ev->kind == MZ_ALLOC || ev->kind == MZ_FREE || ev->kind == MZ_REALLOC;
	}
}

static uint8_t replay_call(const struct mz_event *ev)
{
	if (ev->call >= MZ_CALL_MALLOC && ev->call <= MZ_CALL_FREE)
		return ev->call;
	return ev->kind == MZ_ALLOC	? MZ_CALL_MALLOC
	       : ev->kind == MZ_REALLOC ? MZ_CALL_REALLOC
					: MZ_CALL_FREE;
}

/* Returns the number of operations: 0 for what is not a call, 2 where a missing free is added. */
int mz_plan_event(struct mz_plan *p, const struct mz_event *ev, struct mz_op *ops)
{
	bool by_addr = ev->has & MZ_HAS_ADDR;
	uint64_t key = by_addr ? mz_event_key(ev, ev->addr) : ev->object;

	p->counts.events++;
	if (!is_call(ev)) {
		p->counts.not_calls++;
		if (ev->kind == MZ_LOST) {
			p->counts.lost += ev->size;
			mz_count_lost(p->counts.lost_by, ev);
		}
		return 0;
	}
	if (!p->timed && (ev->has & MZ_HAS_TIME)) {
		p->first_time = ev->time;
		p->timed = true;
	}
	ops[0] = (struct mz_op){.call = replay_call(ev), .slot = MZ_SLOT_NULL};
	if ((ev->has & MZ_HAS_TIME) && ev->time > p->first_time)
		ops[0].time = ev->time - p->first_time;
	if (ev->kind == MZ_ALLOC)
		return plan_alloc(p, ev, key, ops);
	if (ev->kind == MZ_REALLOC)
		return plan_realloc(p, ev, by_addr ? ev->old_addr : ev->old_object, key, false,
				    ops);
	return plan_free(p, key, !by_addr && !key, ops);
}

size_t mz_plan_rest(struct mz_plan *p, struct mz_op *ops, size_t max)
{
	size_t n = 0;

	/* From the top down: removing a block may pull another into its place, which
	 * the next look at the same place finds. */
	if (!p->rest)
		p->rest = p->live.mask + 1;
	while (p->rest && n < max) {
		struct mz_plan_block *b = mz_u64_table_slot(&p->live, p->rest - 1, BLOCK);

		if (!b->key) {
			p->rest--;
			continue;
		}
		ops[n] = (struct mz_op){0};
		free_op(p, &ops[n++], b, 0);
		mz_u64_table_remove(&p->live, b, BLOCK);
	}
	return n;
}
