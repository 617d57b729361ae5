// SPDX-License-Identifier: BSD-2-Clause
/* Compare the sorted map with a sorted array. */
#include "base/sorted_map.h"

#include <string.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define MODEL 6000

struct model {
	uint64_t keys[MODEL];
	size_t used;
};

static size_t model_find(const struct model *m, uint64_t key)
{
	size_t i = 0;

	while (i < m->used && m->keys[i] < key)
		i++;
	return i;
}

static void model_insert(struct model *m, size_t at, uint64_t key)
{
	memmove(m->keys + at + 1, m->keys + at, (m->used - at) * sizeof(*m->keys));
	m->keys[at] = key;
	m->used++;
}

static void model_remove(struct model *m, size_t at)
{
	m->used--;
	memmove(m->keys + at, m->keys + at + 1, (m->used - at) * sizeof(*m->keys));
}

static void check_place(const struct mz_sorted_map *o, struct mz_map_pos at, const struct model *m,
			size_t i)
{
	struct mz_entry e;

	CHECK(mz_sorted_map_at(o, at).key == m->keys[i]);
	CHECK(mz_sorted_map_at(o, at).value == m->keys[i] * 3);
	CHECK(mz_sorted_map_prev(o, at, &e) == (i > 0));
	if (i > 0)
		CHECK(e.key == m->keys[i - 1]);
	CHECK(mz_sorted_map_next(o, at, &e) == (i + 1 < m->used));
	if (i + 1 < m->used)
		CHECK(e.key == m->keys[i + 1]);
}

/* grow: chance in 16 of an insertion, so that the map fills or empties. */
static void churn(struct mz_sorted_map *o, struct model *m, uint64_t *seed, unsigned steps,
		  unsigned grow, uint64_t range)
{
	for (unsigned n = 0; n < steps; n++) {
		uint64_t key = 1 + random_below(seed, range);
		bool insert = random_below(seed, 16) < grow;
		size_t i = model_find(m, key);
		struct mz_map_pos at;
		bool there = i < m->used && m->keys[i] == key;

		if (!insert && m->used && !there) {
			i = random_below(seed, m->used);
			key = m->keys[i];
			there = true;
		}
		CHECK(mz_sorted_map_find(o, key, &at) == there);
		if (insert && !there && m->used < MODEL) {
			CHECK(!mz_sorted_map_insert(o, &at, (struct mz_entry){key, key * 3, n}));
			model_insert(m, i, key);
			check_place(o, at, m, i);
		} else if (!insert && there) {
			check_place(o, at, m, i);
			mz_sorted_map_remove(o, at);
			model_remove(m, i);
		}
		CHECK(o->entries == m->used);
	}
}

static void random_keys(void)
{
	static struct model m;
	struct mz_sorted_map o = {0};
	uint64_t seed = 23;

	for (unsigned round = 0; round < 3; round++) {
		churn(&o, &m, &seed, 8000, 13, 100000);
		churn(&o, &m, &seed, 12000, 3, 100000);
		churn(&o, &m, &seed, 3000, 8, 50);
	}
	mz_sorted_map_deinit(&o);
}

static void ascending_keys_fill_the_runs(void)
{
	struct mz_sorted_map o = {0};
	struct mz_map_pos at;

	for (uint64_t k = 1; k <= 10000; k++) {
		CHECK(!mz_sorted_map_find(&o, k * 16, &at));
		CHECK(!mz_sorted_map_insert(&o, &at, (struct mz_entry){k * 16, 0, 0}));
	}
	CHECK(o.count < 10000 / (MZ_RUN_MAX - 2) + 2);
	mz_sorted_map_deinit(&o);
}

int main(void)
{
	RUN(random_keys);
	RUN(ascending_keys_fill_the_runs);
	return test_end();
}
