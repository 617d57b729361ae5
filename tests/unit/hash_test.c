// SPDX-License-Identifier: BSD-2-Clause
/* The three hash tables against plain arrays, with random keys and with chosen ones. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes_index.h"
#include "base/pair_index.h"
#include "base/u64_table.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define KEYS 5000

struct record {
	uint64_t key, value;
};

/* ---- u64_table ---------------------------------------------------------- */

static uint64_t state;
static uint64_t model[KEYS]; /* value by key - 1; 0 = not there */

static void compare_table(const struct mz_u64_table *t)
{
	size_t n = 0, in_slots = 0;

	for (uint64_t k = 1; k <= KEYS; k++) {
		const struct record *r = mz_u64_table_find(t, k * 16, sizeof(*r));

		CHECK(!r == !model[k - 1]);
		CHECK(!r || r->value == model[k - 1]);
		n += model[k - 1] != 0;
	}
	for (size_t i = 0; i <= t->mask; i++)
		in_slots += mz_u64_table_key(t, i, sizeof(struct record)) != 0;
	CHECK_EQ(t->used, n);
	CHECK_EQ(in_slots, n);
}

static bool is_even(const void *record, const void *arg)
{
	(void)arg;
	return !(((const struct record *)record)->value & 1);
}

static void table_as_model(void)
{
	struct mz_u64_table t;
	struct record *r;
	bool fresh;

	CHECK_EQ(mz_u64_table_init(&t, sizeof(*r)), 0);
	for (int step = 1; step <= 200000; step++) {
		uint64_t k = random_next(&state) % KEYS + 1;

		if (random_next(&state) % 3) {
			r = mz_u64_table_insert(&t, k * 16, sizeof(*r), &fresh);
			CHECK_EQ(fresh, !model[k - 1]);
			CHECK_EQ(r->value, model[k - 1]);
			r->value = model[k - 1] = (uint64_t)step;
		} else if ((r = mz_u64_table_find(&t, k * 16, sizeof(*r)))) {
			mz_u64_table_remove(&t, r, sizeof(*r));
			model[k - 1] = 0;
		}
		if (step % 20000 == 0)
			compare_table(&t);
	}
	CHECK_EQ(mz_u64_table_sweep(&t, sizeof(*r), is_even, NULL), 0);
	for (size_t i = 0; i < KEYS; i++)
		model[i] = model[i] & 1 ? 0 : model[i];
	compare_table(&t);
	mz_u64_table_clear(&t, sizeof(*r));
	memset(model, 0, sizeof(model));
	compare_table(&t);
	mz_u64_table_deinit(&t);
}

/* The inverse of an odd number modulo 2^64. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a;

	for (int i = 0; i < 6; i++)
		x *= 2 - a * x;
	return x;
}

/* Slots that finding all of the keys looks at. */
static uint64_t work(const struct mz_u64_table *t, const uint64_t *keys, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = mz_u64_table_home(t, keys[i]);

		for (sum++; mz_u64_table_key(t, at, sizeof(struct record)) != keys[i]; sum++)
			at = (at + 1) & t->mask;
	}
	return sum;
}

#define MANY 100000

static uint64_t work_of(const uint64_t *keys, bool *reseeded)
{
	struct mz_u64_table t;
	uint64_t sum;
	bool fresh;

	CHECK_EQ(mz_u64_table_init(&t, sizeof(struct record)), 0);
	for (size_t i = 0; i < MANY; i++)
		CHECK(mz_u64_table_insert(&t, keys[i], sizeof(struct record), &fresh));
	CHECK_EQ(t.used, MANY);
	sum = work(&t, keys, MANY);
	*reseeded = t.multiplier != MZ_HASH_GOLDEN;
	mz_u64_table_deinit(&t);
	return sum;
}

/* Keys made for the golden ratio would all have one home: 5e9 looks. */
static void chosen_keys(void)
{
	uint64_t *keys = malloc(MANY * sizeof(*keys)), back = inverse(MZ_HASH_GOLDEN);
	bool reseeded;

	CHECK_EQ(back * MZ_HASH_GOLDEN, 1);
	for (uint64_t i = 0; i < MANY; i++)
		keys[i] = (i + 1) * back;
	CHECK(work_of(keys, &reseeded) < 40 * (uint64_t)MANY);
	CHECK(reseeded);
	free(keys);
}

/* Addresses as allocators give them, and random ones: the multiplier stays. */
static void usual_keys(void)
{
	uint64_t *keys = malloc(MANY * sizeof(*keys));
	bool reseeded;

	for (uint64_t step = 16; step <= 4096; step *= 2) {
		for (uint64_t i = 0; i < MANY; i++)
			keys[i] = 0x7f0000001000 + i * step;
		CHECK(work_of(keys, &reseeded) < 4 * (uint64_t)MANY);
		CHECK(!reseeded);
	}
	for (int turn = 0; turn < 20; turn++) {
		for (uint64_t i = 0; i < MANY; i++)
			keys[i] = random_next(&state) | 1;
		CHECK(work_of(keys, &reseeded) < 4 * (uint64_t)MANY);
		CHECK(!reseeded);
	}
	free(keys);
}

/* ---- indexes ------------------------------------------------------------ */

static void pairs_as_model(void)
{
	static struct mz_key known[KEYS];
	struct mz_pair_index ix = {0};
	size_t n = 0;

	CHECK_EQ(mz_pair_index_get(&ix, 1, 2), MZ_PAIR_INDEX_NONE);
	for (int turn = 0; turn < 2; turn++) {
		for (int step = 0; step < 6000; step++) {
			uint64_t a = random_next(&state) % 60, b = random_next(&state) % 60 << 40;
			size_t want = 0;

			while (want < n && (known[want].a != a || known[want].b != b))
				want++;
			CHECK_EQ(mz_pair_index_get(&ix, a, b),
				 want < n ? (uint32_t)want : MZ_PAIR_INDEX_NONE);
			mz_pair_index_ask(&ix, a, b);
			if (want == n)
				known[n++] = (struct mz_key){a, b};
			else
				CHECK_EQ(mz_pair_index_expect(&ix, a, b), want);
			CHECK_EQ(mz_pair_index_put(&ix, a, b), want);
			CHECK_EQ(ix.count, n);
		}
		CHECK(n > 2500);
		for (size_t i = 0; i < n; i++)
			CHECK(ix.keys[i].a == known[i].a && ix.keys[i].b == known[i].b);
		mz_pair_index_clear(&ix);
		n = 0;
	}
	mz_pair_index_deinit(&ix);
}

static void rooms(void)
{
	uint64_t *v = NULL;
	size_t cap = 0;

	for (size_t at = 0; at < 5000; at += random_next(&state) % 7) {
		size_t before = cap;

		CHECK(mz_array_room((void **)&v, &cap, at, sizeof(*v)));
		CHECK(at < cap);
		for (size_t i = before; i < cap; i++) {
			CHECK_EQ(v[i], 0);
			v[i] = i;
		}
	}
	for (size_t i = 0; i < cap; i++)
		CHECK_EQ(v[i], i);
	free(v);
}

static void bytes_as_model(void)
{
	static char known[KEYS][24];
	static size_t length[KEYS];
	struct mz_bytes_index ix = {0};
	size_t n = 0;

	for (int step = 0; step < 8000; step++) {
		char text[24];
		size_t len = random_next(&state) % 20, want = 0;

		/* few letters, zeros among them: many are met again */
		for (size_t i = 0; i < len; i++)
			text[i] = (char)(i % 3 ? 0 : random_next(&state) % 2);
		while (want < n && (length[want] != len || memcmp(known[want], text, len)))
			want++;
		if (want == n) {
			memcpy(known[n], text, len);
			length[n++] = len;
		}
		CHECK_EQ(mz_bytes_index_put(&ix, text, len), want);
		CHECK_EQ(ix.count, n);
		CHECK(ix.items[want].len == len && !memcmp(ix.items[want].data, text, len));
		CHECK_EQ(ix.items[want].data[len], 0);
	}
	CHECK(n > 100);
	mz_bytes_index_deinit(&ix);
}

/* Two tables have different hashes: no input is bad for every run. */
static void seeds_differ(void)
{
	struct mz_pair_index a = {0}, b = {0};

	mz_pair_index_put(&a, 1, 2);
	mz_pair_index_put(&b, 1, 2);
	CHECK(a.seed[0] != b.seed[0] && a.seed[1] != b.seed[1]);
	CHECK(mz_hash_bytes("abc", 3, a.seed) != mz_hash_bytes("abc", 3, b.seed));
	CHECK(mz_hash_bytes("", 0, a.seed) != mz_hash_bytes("\0", 1, a.seed));
	mz_pair_index_deinit(&a);
	mz_pair_index_deinit(&b);
}

int main(void)
{
	RUN(table_as_model);
	RUN(chosen_keys);
	RUN(usual_keys);
	RUN(pairs_as_model);
	RUN(rooms);
	RUN(bytes_as_model);
	RUN(seeds_differ);
	return test_end();
}
