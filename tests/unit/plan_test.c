// SPDX-License-Identifier: BSD-2-Clause
/* The plan of a replay, carried out on an array of slots. */
#include "replay/plan.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define ADDRS 200
#define SLOTS 4096

static uint64_t state;
static bool used[SLOTS];
static uint64_t size_in[SLOTS];
static uint16_t turn_of[SLOTS];
static uint64_t live_blocks, live_bytes;

/* What a replay does with an operation: slots must be free, or in use, as it needs. */
static void carry_out(const struct mz_op *op)
{
	uint32_t s = op->slot;

	if (s == MZ_SLOT_NULL)
		return;
	CHECK(s < SLOTS);
	CHECK_EQ(op->turn, turn_of[s]++);
	if (op->call == MZ_CALL_FREE) {
		CHECK(used[s]);
		live_blocks--;
		live_bytes -= size_in[s];
		used[s] = false;
		return;
	}
	CHECK(op->call == MZ_CALL_REALLOC || !used[s]);
	if (op->flags & MZ_OP_NOTHING) {
		if (op->size) /* it failed: the block stays */
			return;
		CHECK(used[s]);
		live_blocks--;
		live_bytes -= size_in[s];
		used[s] = false;
		return;
	}
	live_blocks += !used[s];
	live_bytes += op->size - (used[s] ? size_in[s] : 0);
	used[s] = true;
	size_in[s] = op->size;
}

static struct mz_event some_event(void)
{
	struct mz_event ev = {
		.addr = random_below(&state, ADDRS) + 1,
		.size = random_below(&state, 500) + 1,
		.kind = MZ_ALLOC,
		.call = MZ_CALL_MALLOC,
		.has = MZ_HAS_ADDR,
	};

	switch (random_below(&state, 6)) {
	case 0:
	case 1: break;
	case 2:
		ev.kind = MZ_REALLOC;
		ev.call = MZ_CALL_REALLOC;
		ev.old_addr = random_below(&state, ADDRS + 1);
		if (!random_below(&state, 4))
			ev.addr = 0;
		if (!ev.addr && random_below(&state, 2))
			ev.size = 0;
		break;
	default:
		ev.kind = MZ_FREE;
		ev.call = MZ_CALL_FREE;
		ev.size = 0;
		if (!random_below(&state, 20))
			ev.addr = 0;
	}
	return ev;
}

/* Live blocks by address, as the trace has them. */
static uint64_t model[ADDRS + 1]; /* size + 1; 0 = none */

static void model_event(const struct mz_event *ev, struct mz_plan_counts *want)
{
	if (ev->kind == MZ_FREE) {
		want->unknown_frees += ev->addr && !model[ev->addr];
		model[ev->addr] = 0;
		return;
	}
	if (ev->kind == MZ_REALLOC) {
		want->unknown_olds += ev->old_addr && !model[ev->old_addr];
		if (!ev->addr && ev->size)
			return;
		model[ev->old_addr] = 0;
		if (!ev->addr)
			return;
	}
	want->late_frees += model[ev->addr] != 0;
	model[ev->addr] = ev->size + 1;
}

static void as_model(bool oldest_first)
{
	struct mz_plan_counts want = {0};
	struct mz_op ops[MZ_PLAN_OPS], rest[64];
	struct mz_plan p;
	uint64_t peak = 0;
	size_t n;

	memset(used, 0, sizeof(used));
	memset(turn_of, 0, sizeof(turn_of));
	memset(model, 0, sizeof(model));
	live_blocks = live_bytes = 0;
	CHECK_EQ(mz_plan_init(&p, oldest_first), 0);
	for (int i = 0; i < 20000; i++) {
		struct mz_event ev = some_event();
		uint64_t bytes = 0, blocks = 0;
		int got = mz_plan_event(&p, &ev, ops);

		CHECK(got >= 0 && got <= MZ_PLAN_OPS);
		for (int k = 0; k < got; k++)
			carry_out(&ops[k]);
		model_event(&ev, &want);
		for (int a = 1; a <= ADDRS; a++) {
			blocks += model[a] != 0;
			bytes += model[a] ? model[a] - 1 : 0;
		}
		CHECK_EQ(live_blocks, blocks);
		CHECK_EQ(live_bytes, bytes);
		CHECK_EQ(p.counts.live_bytes, bytes);
		peak = blocks > peak ? blocks : peak;
	}
	CHECK_EQ(p.counts.events, 20000);
	CHECK_EQ(p.counts.unknown_frees, want.unknown_frees);
	CHECK_EQ(p.counts.unknown_olds, want.unknown_olds);
	CHECK_EQ(p.counts.late_frees, want.late_frees);
	CHECK_EQ(p.counts.peak_blocks, peak);
	/* a slot more while the late free of another is on its way */
	CHECK(p.slots <= peak + 2);
	while ((n = mz_plan_rest(&p, rest, 64)))
		for (size_t i = 0; i < n; i++)
			carry_out(&rest[i]);
	CHECK_EQ(live_blocks, 0);
	CHECK_EQ(p.counts.live_blocks, 0);
	mz_plan_deinit(&p);
}

static void newest_slots(void)
{
	as_model(false);
}

static void oldest_slots(void)
{
	as_model(true);
}

int main(void)
{
	RUN(newest_slots);
	RUN(oldest_slots);
	return test_end();
}
