// SPDX-License-Identifier: BSD-2-Clause
/* Sums of a heap by call site, against a model that looks at every block at every event. */
#include "analysis/usage.h"

#include <string.h>

#include "analysis/call_sites.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define SITES 8
#define ADDRS 64
#define TIDS  3

static uint64_t state;

struct model_block {
	bool live;
	uint64_t size, born;
	uint32_t site, tid;
	uint64_t turn; /* allocations of its thread up to it */
};

struct model_sums {
	uint64_t allocs, bytes, temporary, lifetime, live, blocks, at_peak, peak_blocks, most;
};

static struct model_block blocks[ADDRS];
static struct model_sums sites[SITES], all;
static uint64_t turns[TIDS], peak, peak_event, unknown, over_live, failed;

static void model_end(uint32_t a, uint32_t tid, uint64_t now, bool seen)
{
	struct model_block *b = &blocks[a];
	bool temporary = seen && b->tid == tid && b->turn == turns[tid];

	sites[b->site].temporary += temporary;
	all.temporary += temporary;
	sites[b->site].lifetime += now - b->born;
	all.lifetime += now - b->born;
	b->live = false;
}

static uint64_t live_of(uint32_t site, uint64_t *count)
{
	uint64_t sum = 0;

	*count = 0;
	for (uint32_t a = 0; a < ADDRS; a++)
		if (blocks[a].live && (site == SITES || blocks[a].site == site)) {
			sum += blocks[a].size;
			++*count;
		}
	return sum;
}

static void model_begin(uint32_t a, uint64_t size, uint32_t site, uint32_t tid, uint64_t now,
			uint64_t number)
{
	uint64_t live, n;

	if (blocks[a].live) {
		over_live++;
		model_end(a, tid, now, false);
	}
	blocks[a] = (struct model_block){true, size, now, site, tid, ++turns[tid]};
	sites[site].allocs++;
	sites[site].bytes += size;
	all.allocs++;
	all.bytes += size;
	live = live_of(site, &n);
	sites[site].most = live > sites[site].most ? live : sites[site].most;
	live = live_of(SITES, &n);
	if (live <= peak)
		return;
	peak = live;
	peak_event = number;
	for (uint32_t s = 0; s < SITES; s++)
		sites[s].at_peak = live_of(s, &sites[s].peak_blocks);
}

static void step(struct mz_usage *u, uint64_t number)
{
	uint32_t a = (uint32_t)random_below(&state, ADDRS), to = a;
	uint32_t tid = (uint32_t)random_below(&state, TIDS);
	struct mz_event ev = {
		.time = number * 10,
		.addr = a + 1,
		.size = random_below(&state, 1000),
		.site = (uint32_t)random_below(&state, SITES),
		.tid = tid,
		.call = MZ_CALL_MALLOC,
		.has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_SITE | MZ_HAS_TID,
	};

	switch (random_below(&state, 8)) {
	case 0:
	case 1:
	case 2: /* a block, sometimes over one that lives */
		ev.kind = MZ_ALLOC;
		model_begin(a, ev.size, ev.site, tid, ev.time, number);
		break;
	case 3: /* exchanged: in place, or moved */
		to = random_below(&state, 2) ? a : (uint32_t)random_below(&state, ADDRS);
		ev.kind = MZ_REALLOC;
		ev.call = MZ_CALL_REALLOC;
		ev.size++;
		ev.old_addr = a + 1;
		ev.addr = random_below(&state, 8) ? to + 1 : 0;
		if (!ev.addr) {
			failed++;
			break;
		}
		if (blocks[a].live)
			model_end(a, tid, ev.time, true);
		else
			unknown++;
		model_begin(to, ev.size, ev.site, tid, ev.time, number);
		break;
	default:
		ev.kind = MZ_FREE;
		ev.call = MZ_CALL_FREE;
		ev.size = 0;
		if (blocks[a].live)
			model_end(a, tid, ev.time, true);
		else
			unknown++;
	}
	CHECK_EQ(mz_usage_add(u, &ev), 0);
}

static void compare(const struct mz_usage_site *s, const struct model_sums *want, uint32_t site,
		    uint64_t end)
{
	uint64_t n, live = live_of(site, &n), lifetime = want->lifetime;

	for (uint32_t a = 0; a < ADDRS; a++)
		if (blocks[a].live && (site == SITES || blocks[a].site == site))
			lifetime += end - blocks[a].born;
	CHECK_EQ(s->sum.blocks, want->allocs);
	CHECK_EQ(s->sum.bytes, want->bytes);
	CHECK_EQ(s->sum.temporary, want->temporary);
	CHECK_EQ(s->sum.lifetime, lifetime);
	CHECK_EQ(s->sum.live_bytes, live);
	CHECK_EQ(s->sum.live_blocks, n);
	if (site == SITES)
		return;
	CHECK_EQ(s->sum.peak_bytes, want->at_peak);
	CHECK_EQ(s->sum.peak_blocks, want->peak_blocks);
	CHECK_EQ(s->sum.max_bytes, want->most);
}

static void as_model(void)
{
	for (int turn = 0; turn < 30; turn++) {
		uint64_t events = random_below(&state, 3000);
		struct mz_usage u;

		memset(blocks, 0, sizeof(blocks));
		memset(sites, 0, sizeof(sites));
		memset(turns, 0, sizeof(turns));
		all = (struct model_sums){0};
		peak = peak_event = unknown = over_live = failed = 0;
		CHECK_EQ(mz_usage_init(&u), 0);
		for (uint64_t i = 1; i <= events; i++)
			step(&u, i);
		mz_usage_end(&u);
		CHECK_EQ(u.events, events);
		CHECK_EQ(u.unknown, unknown);
		CHECK_EQ(u.over_live, over_live);
		CHECK_EQ(u.failed, failed);
		CHECK_EQ(u.all.sum.peak_bytes, peak);
		CHECK_EQ(u.peak_event, peak_event);
		for (uint32_t s = 0; s < SITES && s < u.sites_cap; s++)
			compare(&u.sites[s], &sites[s], s, events * 10);
		compare(&u.all, &all, SITES, events * 10);
		mz_usage_deinit(&u);
	}
}

/* An event of thread 1, with a weight or what is none. */
static void weighted(struct mz_usage *u, uint8_t kind, uint8_t call, uint64_t addr, uint64_t size,
		     uint32_t flags)
{
	struct mz_event ev = {.kind = kind,
			      .call = call,
			      .addr = addr,
			      .size = size,
			      .site = 1,
			      .flags = flags,
			      .has = MZ_HAS_ADDR | MZ_HAS_SITE | (flags ? MZ_HAS_FLAGS : 0)};

	CHECK_EQ(mz_usage_add(u, &ev), 0);
}

static void weights(void)
{
	struct mz_usage u;

	CHECK_EQ(mz_usage_init(&u), 0);
	weighted(&u, MZ_ALLOC, MZ_CALL_MALLOC, 16, 10, 8);
	weighted(&u, MZ_ALLOC, MZ_CALL_CALLOC, 32, 5, 0);
	weighted(&u, MZ_ALLOC, MZ_CALL_MALLOC, 48, 7, 6);	 /* no power of two */
	weighted(&u, MZ_ALLOC, MZ_CALL_MALLOC, 64, 7, 1u << 16); /* too large */
	weighted(&u, MZ_ALLOC, MZ_CALL_KMALLOC, 80, 7, 8);	 /* flags of the kernel */
	CHECK_EQ(u.all.sum.live_bytes, 8 * 10 + 5 + 3 * 7);
	CHECK_EQ(u.all.sum.live_blocks, 8 + 4);
	weighted(&u, MZ_FREE, MZ_CALL_FREE, 16, 0, 0);
	weighted(&u, MZ_FREE, MZ_CALL_FREE, 32, 0, 0);
	weighted(&u, MZ_LOST, MZ_CALL_LOST, 0, 100, 0);
	mz_usage_end(&u);
	CHECK(u.sampled);
	CHECK_EQ(u.stood_for, 7);
	CHECK_EQ(u.stood_for_bytes, 7 * 10);
	CHECK_EQ(u.all.sum.blocks, 12);
	CHECK_EQ(u.all.sum.bytes, 106);
	CHECK_EQ(u.all.sum.peak_bytes, 106);
	CHECK_EQ(u.sites[1].sum.peak_bytes, 106);
	CHECK_EQ(u.frees, 9);
	CHECK_EQ(u.calls[MZ_CALL_FREE], 9);
	CHECK_EQ(u.all.sum.live_bytes, 3 * 7);
	/* the clock is the number of the event, and the last is the eighth */
	CHECK_EQ(u.all.sum.lifetime, 8 * 5 + 5 + (8 - 3) + (8 - 4) + (8 - 5));
	CHECK_EQ(u.all.sum.temporary, 0);
	mz_usage_deinit(&u);
}

/* Three blocks that live for almost all of time: their sum is the most there is. */
static void long_lives(void)
{
	struct mz_usage u;

	CHECK(!mz_usage_init(&u));
	for (uint64_t addr = 16; addr <= 48; addr += 16)
		CHECK(!mz_usage_add(
			&u, &(struct mz_event){.kind = MZ_ALLOC,
					       .call = MZ_CALL_MALLOC,
					       .addr = addr,
					       .size = 1,
					       .flags = addr == 48 ? 8 : 1,
					       .time = 1,
					       .has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_FLAGS}));
	CHECK(!mz_usage_add(&u, &(struct mz_event){.kind = MZ_FREE,
						   .call = MZ_CALL_FREE,
						   .addr = 16,
						   .time = UINT64_MAX - 1,
						   .has = MZ_HAS_ADDR | MZ_HAS_TIME}));
	CHECK_EQ(u.all.sum.lifetime, UINT64_MAX - 2);
	mz_usage_end(&u);
	CHECK_EQ(u.all.sum.lifetime, UINT64_MAX);
	CHECK_EQ(u.sites[0].sum.lifetime, UINT64_MAX);
	mz_heap_sum_add(&u.all.sum, &u.sites[0].sum);
	CHECK_EQ(u.all.sum.lifetime, UINT64_MAX);
	mz_usage_deinit(&u);
}

#define VALUES (sizeof(struct mz_heap_sum) / sizeof(uint64_t))

/* No value of a sum is left out, and none becomes small. */
static void sums_add_up(void)
{
	union {
		struct mz_heap_sum sum;
		uint64_t value[VALUES];
	} to, from;

	for (size_t i = 0; i < VALUES; i++) {
		to.value[i] = 1000 * i + 2;
		from.value[i] = i % 2 ? i + 1 : UINT64_MAX - 1000 * i;
	}
	mz_heap_sum_add(&to.sum, &from.sum);
	for (size_t i = 0; i < VALUES; i++)
		CHECK_EQ(to.value[i], i % 2 ? 1001 * i + 3 : UINT64_MAX);
}

/* What two recordings did, added: the sums, and not what is numbered in one of them only. */
static void merged(void)
{
	struct mz_usage u[2];

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(mz_usage_init(&u[i]), 0);
		weighted(&u[i], MZ_ALLOC, MZ_CALL_MALLOC, 16, 10, 0);
		weighted(&u[i], MZ_ALLOC, MZ_CALL_MALLOC, 32, 5, 0);
		weighted(&u[i], MZ_FREE, MZ_CALL_FREE, 16, 0, 0);
		weighted(&u[i], MZ_FREE, MZ_CALL_FREE, 64, 0, 0);
		mz_usage_end(&u[i]);
	}
	mz_usage_merge(&u[0], &u[1]);
	CHECK_EQ(u[0].events, 8);
	CHECK_EQ(u[0].allocs, 4);
	CHECK_EQ(u[0].frees, 2);
	CHECK_EQ(u[0].unknown, 2);
	CHECK_EQ(u[0].threads, 2);
	CHECK_EQ(u[0].peak_blocks, 4);
	CHECK_EQ(u[0].calls[MZ_CALL_MALLOC], 4);
	CHECK_EQ(u[0].all.sum.bytes, 30);
	CHECK_EQ(u[0].all.sum.peak_bytes, 30);
	CHECK_EQ(u[0].all.sum.live_bytes, 10);
	CHECK_EQ(u[0].sites[1].sum.blocks, 2);
	mz_usage_deinit(&u[0]);
	mz_usage_deinit(&u[1]);
}

/* The largest first; equal ones in their order; those that are 0 are left out. */
static void ranked(void)
{
	struct mz_call_site list[4] = {
		{.sum = {.bytes = 5, .waste = 1}},
		{.sum = {.bytes = 9}},
		{.sum = {.waste = 7}},
		{.sum = {.bytes = 5}},
	};
	const struct mz_call_sites s = {.list = list, .count = 4};
	const struct mz_call_site *order[4];

	CHECK_EQ(mz_call_sites_rank(&s, offsetof(struct mz_heap_sum, bytes), order), 3);
	CHECK(order[0] == &list[1] && order[1] == &list[0] && order[2] == &list[3]);
	CHECK_EQ(mz_call_sites_rank(&s, offsetof(struct mz_heap_sum, waste), order), 2);
	CHECK(order[0] == &list[2] && order[1] == &list[0]);
	CHECK_EQ(mz_call_sites_rank(&s, offsetof(struct mz_heap_sum, reads), order), 0);
}

int main(void)
{
	RUN(as_model);
	RUN(weights);
	RUN(long_lives);
	RUN(sums_add_up);
	RUN(merged);
	RUN(ranked);
	return test_end();
}
