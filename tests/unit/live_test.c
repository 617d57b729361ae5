// SPDX-License-Identifier: BSD-2-Clause
/* Compare the table of live blocks with a linear search. */
#include "trace/live.h"

#include <string.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"
#include "trace/live_set.h"

#define MODEL 4000

static struct {
	uint64_t addr, object, size, born;
} model[MODEL];
static size_t used;

static long model_find(uint64_t addr)
{
	for (size_t i = 0; i < used; i++)
		if (model[i].addr == addr)
			return (long)i;
	return -1;
}

static struct mz_event event(uint8_t kind, uint64_t addr, uint64_t old, uint64_t size)
{
	return (struct mz_event){
		.kind = kind, .addr = addr, .old_addr = old, .size = size, .has = MZ_HAS_ADDR};
}

static uint64_t serial;

static void model_begin(uint64_t addr, uint64_t size, uint64_t now)
{
	long i = model_find(addr);

	if (i < 0)
		i = (long)used++;
	model[i].addr = addr;
	model[i].object = ++serial;
	model[i].size = size;
	model[i].born = now;
}

static void check_gone(long i, const struct mz_effect *fx)
{
	CHECK(fx->went);
	CHECK(fx->old.object == model[i].object && fx->old.size == model[i].size &&
	      fx->old.born == model[i].born);
	model[i] = model[--used];
}

static void random_events(void)
{
	uint64_t seed = 29;
	struct mz_effect fx;
	struct mz_live l;

	CHECK(!mz_live_init(&l));
	for (uint64_t now = 1; now <= 60000; now++) {
		uint64_t addr = (1 + random_below(&seed, now < 30000 ? 5000 : 300)) * 16;
		uint64_t other = (1 + random_below(&seed, 5000)) * 16;
		uint64_t size = random_below(&seed, 1000);
		unsigned what = (unsigned)random_below(&seed, 8);
		long i = model_find(addr);
		struct mz_event ev;

		if (what < 4 && used < MODEL - 1) {
			ev = event(MZ_ALLOC, addr, 0, size);
			CHECK(!mz_live_apply(&l, &ev, now, &fx));
			CHECK(fx.came && fx.over_live == (i >= 0));
			model_begin(addr, size, now);
			CHECK(ev.object == serial);
		} else if (what < 7) {
			ev = event(MZ_FREE, addr, 0, 0);
			CHECK(!mz_live_apply(&l, &ev, now, &fx));
			CHECK(fx.unknown == (i < 0) && ev.object == (i < 0 ? 0 : model[i].object));
			if (i >= 0)
				check_gone(i, &fx);
		} else if (i >= 0) {
			ev = event(MZ_REALLOC, other, addr, size + 1);
			CHECK(!mz_live_apply(&l, &ev, now, &fx));
			check_gone(i, &fx);
			model_begin(other, size + 1, now);
			CHECK(ev.object == serial);
		}
		CHECK(mz_live_count(&l) == used);
	}
	mz_live_deinit(&l);
}

/* malloc(0), realloc(NULL), realloc(p, 0), failures: each with its meaning. */
static void odd_events(void)
{
	struct mz_effect fx;
	struct mz_event ev;
	struct mz_live l;

	CHECK(!mz_live_init(&l));
	ev = event(MZ_ALLOC, 0, 0, 100);
	mz_live_apply(&l, &ev, 1, &fx);
	CHECK(!fx.came && !ev.object);
	ev = event(MZ_ALLOC, 16, 0, 0);
	mz_live_apply(&l, &ev, 2, &fx);
	CHECK(fx.came && ev.object == 1);
	ev = event(MZ_REALLOC, 32, 0, 7);
	mz_live_apply(&l, &ev, 3, &fx);
	CHECK(fx.came && !fx.went && ev.object == 2);
	ev = event(MZ_REALLOC, 0, 32, 9);
	mz_live_apply(&l, &ev, 4, &fx);
	CHECK(fx.kept && !fx.went && !fx.came && ev.old_object == 2);
	ev = event(MZ_REALLOC, 0, 32, 0);
	mz_live_apply(&l, &ev, 5, &fx);
	CHECK(fx.went && !fx.came && ev.old_object == 2);
	ev = event(MZ_REALLOC, 16, 16, 50);
	mz_live_apply(&l, &ev, 6, &fx);
	CHECK(fx.went && fx.came && !fx.over_live && ev.object == 3 && ev.old_object == 1);
	ev = event(MZ_FREE, 0, 0, 0);
	mz_live_apply(&l, &ev, 7, &fx);
	CHECK(!fx.went && !fx.unknown);
	CHECK_EQ(mz_live_count(&l), 1);
	CHECK_EQ(l.unmatched.unknown_frees + l.unmatched.over_live, 0);
	mz_live_deinit(&l);
}

/* The set of serials against an array of flags. */
static void serials(void)
{
	static bool live[200001];
	struct mz_live_set s;
	uint64_t seed = 31, count = 0;

	CHECK(!mz_live_set_init(&s));
	for (uint64_t newest = 0; newest < 200000;) {
		if (random_below(&seed, 2)) {
			newest += 1 + (random_below(&seed, 1000) ? 0 : random_below(&seed, 9000));
			if (newest > 200000)
				break;
			CHECK(!mz_live_set_add(&s, newest));
			live[newest] = true;
			count++;
		} else if (newest) {
			/* mostly young ones, as in a trace */
			uint64_t back = random_below(&seed, random_below(&seed, 50) ? 40 : newest);
			uint64_t n = newest - (back < newest ? back : 0);

			CHECK(mz_live_set_remove(&s, n) == live[n]);
			count -= live[n];
			live[n] = false;
		}
	}
	for (uint64_t n = 1; n <= 200000; n++)
		CHECK(mz_live_set_remove(&s, n) == live[n]);
	CHECK_EQ(s.pages.used, 0);
	CHECK(!mz_live_set_add(&s, UINT64_MAX - 1) && mz_live_set_remove(&s, UINT64_MAX - 1));
	mz_live_set_deinit(&s);
}

int main(void)
{
	RUN(random_events);
	RUN(odd_events);
	RUN(serials);
	return test_end();
}
