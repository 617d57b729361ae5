// SPDX-License-Identifier: BSD-2-Clause
/* Addresses told as guesses: what is told is found again, and sizes are rounded as said. */
#include "trace/addr_predict.h"

#include <errno.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define BLOCKS 300

static uint64_t state;

/* The room by its definition: the least number of the allowed form that is large enough. */
static uint64_t room_by_search(enum mz_rounding rounding, uint64_t size)
{
	for (uint64_t v = 8;; v += 8) {
		uint64_t m = v;

		switch (rounding) {
		case MZ_ROUND_HEADER:
			if (v >= 32 && v % 16 == 0 && v >= size + 8)
				return v;
			continue;
		case MZ_ROUND_8:
			if (v >= size)
				return v;
			continue;
		case MZ_ROUND_16:
			if (v % 16 == 0 && v >= size)
				return v;
			continue;
		default: break;
		}
		while (m > 8 && m % 2 == 0)
			m /= 2;
		if (v >= size && (v == 8 || (v <= 128 && v % 16 == 0) || (v > 128 && m <= 8)))
			return v;
	}
}

static void rooms(void)
{
	for (int rounding = 0; rounding < MZ_ROUNDINGS; rounding++)
		for (uint64_t size = 0; size < 5000; size++)
			CHECK_EQ(mz_addr_predict_room((enum mz_rounding)rounding, size),
				 room_by_search((enum mz_rounding)rounding, size));
}

struct kept {
	uint64_t addr, size; /* addr 0 = no block */
};

/* Where an allocator might put a block: a place freed lately, behind the last, anywhere. */
static uint64_t choose(const struct kept *freed, uint64_t behind)
{
	switch (random_below(&state, 4)) {
	case 0: return freed[random_below(&state, 40)].addr;
	case 1: return behind;
	case 2: return 0x10000 + random_below(&state, 4096) * 16;
	default: return random_next(&state) << 3;
	}
}

static void round_trip(void)
{
	struct mz_addr_predict *one = mz_addr_predict_new(), *two = mz_addr_predict_new();
	uint64_t guessed = 0, all = 0;

	for (int turn = 0; turn < 40; turn++) {
		enum mz_rounding rounding = (enum mz_rounding)(turn % MZ_ROUNDINGS);
		struct kept v[BLOCKS] = {{0}}, freed[40] = {{0}};
		uint64_t behind = 0x10000;

		mz_addr_predict_reset(one, rounding, 3);
		mz_addr_predict_reset(two, rounding, 3);
		for (int step = 0; step < 5000; step++) {
			struct kept *b = &v[random_below(&state, BLOCKS)];
			uint64_t size = random_below(&state, 200), old = 0, got = 0, addr;
			struct mz_predicted told;

			if (b->addr && random_below(&state, 3)) { /* it goes */
				freed[random_below(&state, 40)] = *b;
				CHECK_EQ(mz_addr_predict_gone(one, b->size, b->addr), 0);
				CHECK_EQ(mz_addr_predict_gone(two, b->size, b->addr), 0);
				b->addr = 0;
				continue;
			}
			old = b->addr; /* not 0: it is exchanged */
			addr = old && random_below(&state, 2) ? old : choose(freed, behind);
			CHECK_EQ(mz_addr_predict_tell(one, size, old, addr, &told), 0);
			if (told.how && told.how != MZ_PLACE_AGAIN)
				told.delta = random_next(&state); /* not looked at */
			CHECK_EQ(mz_addr_predict_find(two, mz_addr_predict_fit(two, size), old,
						      &told, &got),
				 0);
			CHECK_EQ(got, addr);
			guessed += told.how != 0;
			all++;
			*b = (struct kept){addr, size};
			behind = addr + mz_addr_predict_room(rounding, size);
		}
	}
	/* three of four places were ones to guess */
	CHECK(guessed > all / 3);
	mz_addr_predict_free(one);
	mz_addr_predict_free(two);
}

/* A file may tell any guess. */
static void bad_guesses(void)
{
	struct mz_addr_predict *p = mz_addr_predict_new();
	unsigned refused = 0;

	mz_addr_predict_reset(p, MZ_ROUND_16, 4);
	for (uint32_t how = 0; how < 300; how++) {
		struct mz_predicted told = {.how = how};
		uint64_t addr;
		int ret = mz_addr_predict_find(p, mz_addr_predict_fit(p, 16), 0, &told, &addr);

		CHECK(!ret || ret == -EBADMSG);
		refused += ret != 0;
	}
	CHECK(refused > 290); /* nothing was freed: all but five need a place that was */
	mz_addr_predict_free(p);
}

int main(void)
{
	RUN(rooms);
	RUN(round_trip);
	RUN(bad_guesses);
	return test_end();
}
