// SPDX-License-Identifier: BSD-2-Clause
/* Logs whose frees come too late: they are put right, and nothing else changes. */
#include "replay/repair.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define ADDRS	50
#define THREADS 4
#define EVENTS	4000

static uint64_t state;
static struct mz_event log_[EVENTS], out[EVENTS];

static struct mz_event event(uint8_t kind, uint64_t addr, uint32_t tid, uint64_t number)
{
	return (struct mz_event){
		.kind = kind,
		.addr = addr,
		.tid = tid,
		.time = number, /* tells events apart */
		.size = kind == MZ_ALLOC ? 8 : 0,
		.has = MZ_HAS_ADDR | MZ_HAS_TID,
	};
}

/* A log in its true order. */
static void make_log(void)
{
	bool live[ADDRS + 1] = {false};

	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t a = random_below(&state, ADDRS) + 1;
		uint32_t tid = (uint32_t)random_below(&state, THREADS);

		log_[i] = event(live[a] ? MZ_FREE : MZ_ALLOC, a, tid, i);
		live[a] = !live[a];
	}
}

/* Frees that are followed at once by another thread's use of the address change places
 * with it, as a log written by threads shows them. */
static uint64_t make_inversions(void)
{
	uint64_t n = 0;

	for (int i = 0; i + 1 < EVENTS; i++) {
		struct mz_event *a = &log_[i], *b = &log_[i + 1];

		if (a->kind == MZ_FREE && b->kind == MZ_ALLOC && a->addr == b->addr &&
		    a->tid != b->tid) {
			struct mz_event was = *a;

			*a = *b;
			*b = was;
			n++;
			i++;
		}
	}
	return n;
}

static size_t run(struct mz_repair *r)
{
	size_t in = 0, n = 0;
	int got = 1;

	while (got > 0) {
		while (in < EVENTS && !mz_repair_full(r))
			mz_repair_push(r, &log_[in++]);
		got = mz_repair_pop(r, &out[n < EVENTS ? n : 0]);
		CHECK(got >= 0);
		n += got > 0;
	}
	return n;
}

/* Each event once, and those of a thread in their order. */
static void check_order(size_t n)
{
	static bool seen[EVENTS];
	size_t at[THREADS] = {0};

	memset(seen, 0, sizeof(seen));
	CHECK_EQ(n, EVENTS);
	for (size_t i = 0; i < n; i++) {
		uint32_t tid = out[i].tid;

		CHECK(!seen[out[i].time]);
		seen[out[i].time] = true;
		while (at[tid] < EVENTS && log_[at[tid]].tid != tid)
			at[tid]++;
		CHECK(at[tid] < EVENTS && log_[at[tid]].time == out[i].time);
		at[tid]++;
	}
}

static uint64_t conflicts(const struct mz_event *v)
{
	bool live[ADDRS + 1] = {false};
	uint64_t n = 0;

	for (size_t i = 0; i < EVENTS; i++) {
		bool came = v[i].kind == MZ_ALLOC;

		n += live[v[i].addr] == came;
		live[v[i].addr] = came;
	}
	return n;
}

static void right_stays(void)
{
	for (int turn = 0; turn < 10; turn++) {
		struct mz_repair r;

		make_log();
		CHECK_EQ(mz_repair_init(&r), 0);
		check_order(run(&r));
		CHECK_EQ(r.repaired, 0);
		CHECK(!memcmp(log_, out, sizeof(log_)));
		mz_repair_deinit(&r);
	}
}

static void wrong_is_repaired(void)
{
	uint64_t all = 0;

	for (int turn = 0; turn < 30; turn++) {
		struct mz_repair r;
		uint64_t n;

		make_log();
		n = make_inversions();
		CHECK(conflicts(log_) >= n);
		CHECK_EQ(mz_repair_init(&r), 0);
		check_order(run(&r));
		CHECK_EQ(r.repaired, n);
		CHECK_EQ(conflicts(out), 0);
		all += n;
		mz_repair_deinit(&r);
	}
	CHECK(all > 500);
}

int main(void)
{
	RUN(right_stays);
	RUN(wrong_is_repaired);
	return test_end();
}
