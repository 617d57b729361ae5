// SPDX-License-Identifier: BSD-2-Clause
/* Compare the bounded structures behind the pages with exact ones. */
#include <memorizer.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flame.h"
#include "analysis/history.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define BLOCKS 500
#define EVENTS 40000

static uint64_t seed = 11;

struct picture_block {
	uint64_t addr, size, born;
};

/* Blocks far apart and close together, small and large. */
static struct picture_block any_block(unsigned i, uint64_t now)
{
	uint64_t region = random_below(&seed, 3) * 0x10000000000u;

	return (struct picture_block){region + 0x1000 + i * 0x40000u + random_below(&seed, 64) * 16,
				      1 + random_below(&seed, i % 50 ? 3000 : 200000), now};
}

static uint64_t sum_rows(const struct mz_heatmap *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->rows; i++)
		sum += s->live[i];
	return sum;
}

static void history(void)
{
	struct mz_history *c = mz_history_new();
	struct picture_block blocks[BLOCKS] = {0};
	uint64_t live = 0, n = 0, now = 5, high = 0, ends = 0, ages = 0;
	uint64_t *at = calloc(EVENTS, sizeof(*at)), *bytes = calloc(EVENTS, sizeof(*bytes));

	for (unsigned e = 0; e < EVENTS; e++) {
		unsigned i = (unsigned)random_below(&seed, BLOCKS);

		now += random_below(&seed, 40) ? random_below(&seed, 9) : 2000;
		mz_history_tick(c, now, live, n);
		if (blocks[i].size) {
			live -= blocks[i].size;
			n--;
			ends++;
			ages += now - blocks[i].born;
			mz_history_went(c, blocks[i].addr, blocks[i].size, 1, blocks[i].born, true,
					live, n);
			blocks[i].size = 0;
		} else {
			blocks[i] = any_block(i, now);
			live += blocks[i].size;
			n++;
			mz_history_came(c, blocks[i].addr, blocks[i].size, 1, live, n);
		}
		high = live > high ? live : high;
		at[e] = now - c->time.first;
		bytes[e] = live;
		CHECK_EQ(sum_rows(&c->space), live);
	}
	mz_heatmap_end(&c->space, now - c->time.first);
	CHECK_EQ(c->ages.count, ends);
	CHECK_EQ(c->ages.sum, ages);
	CHECK(c->time.used <= MZ_HISTORY_BINS && c->time.used > MZ_HISTORY_BINS / 4);
	for (unsigned b = 0, e = 0; b < c->time.used; b++) {
		uint64_t most = e ? bytes[e - 1] : bytes[0], end = most;

		for (; e < EVENTS && at[e] / c->time.width == b; e++) {
			most = bytes[e] > most ? bytes[e] : most;
			end = bytes[e];
		}
		CHECK_EQ(c->time.bins[b].live, end);
		CHECK_EQ(c->time.bins[b].high, most);
		high -= most == high ? high : 0; /* the peak is in one of them */
	}
	CHECK_EQ(high, 0);
	CHECK(c->space.rows <= MZ_HEATMAP_ROWS && c->space.columns <= MZ_HEATMAP_COLUMNS);
	for (unsigned k = 0, e = 0; k + 1 < c->space.columns; k++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < c->space.rows; i++)
			sum += c->space.cells[i][k];
		while (e < EVENTS && at[e] / c->space.width <= k)
			e++;
		CHECK_EQ(sum, bytes[e ? e - 1 : 0]);
	}
	free(at);
	free(bytes);
	mz_history_free(c);
}

/* Sizes that a damaged file may have. */
static void space_extremes(void)
{
	static struct mz_heatmap s;

	mz_heatmap_init(&s);
	mz_heatmap_add(&s, UINT64_MAX - 10, UINT64_MAX, true);
	mz_heatmap_add(&s, 0, UINT64_MAX, true);
	mz_heatmap_tick(&s, UINT64_MAX);
	mz_heatmap_add(&s, 0, UINT64_MAX, false);
	mz_heatmap_add(&s, UINT64_MAX - 10, UINT64_MAX, false);
	CHECK_EQ(sum_rows(&s), 0);
}

/* In any order, as the lines of a map have it, with blocks that are always there. */
static void space_any_order(void)
{
	enum { MANY = 3000 };
	static struct mz_heatmap s;
	static struct picture_block b[MANY];
	static uint64_t died[MANY];
	uint64_t last = 0, base = 4294000000u, always = 0;

	mz_heatmap_init(&s);
	for (unsigned i = 0; i < MANY; i++) {
		b[i] = any_block(i % BLOCKS, base + random_below(&seed, 1 + i * 40));
		died[i] = i % 5 ? b[i].born + random_below(&seed, 3000) : UINT64_MAX;
		if (i % 50 == 7) {
			mz_heatmap_always(&s, b[i].addr, b[i].size);
			always += b[i].size;
			b[i].size = 0;
			continue;
		}
		mz_heatmap_tick(&s, b[i].born);
		mz_heatmap_add(&s, b[i].addr, b[i].size, true);
		last = b[i].born > last ? b[i].born : last;
		if (died[i] == UINT64_MAX)
			continue;
		mz_heatmap_tick(&s, died[i]);
		mz_heatmap_add(&s, b[i].addr, b[i].size, false);
		last = died[i] > last ? died[i] : last;
	}
	mz_heatmap_end(&s, last);
	CHECK(s.rows <= MZ_HEATMAP_ROWS && s.columns <= MZ_HEATMAP_COLUMNS);
	CHECK(s.columns > MZ_HEATMAP_COLUMNS / 4);
	CHECK_EQ(last / s.width - s.start + 1, s.columns);
	for (unsigned k = 0; k < s.columns; k++) {
		uint64_t sum = 0, want = always, end = (s.start + k + 1) * s.width;

		for (unsigned i = 0; i < s.rows; i++)
			sum += s.cells[i][k];
		for (unsigned i = 0; i < MANY; i++)
			want += b[i].born < end && died[i] >= end ? b[i].size : 0;
		CHECK_EQ(sum, want);
	}
}

/* Runs of events against a loop that knows all of them. */
static void runs(void)
{
	static uint64_t live[5000];
	static struct mz_timeline t[2];
	unsigned n = 0;

	mz_timeline_init(&t[0], 64);
	mz_timeline_init(&t[1], 64);
	for (; n < 5000; n++) {
		struct mz_timeline_bin now = {.at = n, .live = live[n] = n * 7919u % 1009};

		mz_timeline_event(&t[0], &now, MZ_TIMELINE_HIGHEST);
		mz_timeline_event(&t[1], &now, MZ_TIMELINE_FIRST);
	}
	CHECK_EQ(t[0].run_room, 128);
	CHECK_EQ(t[0].used, 40);
	CHECK_EQ(t[1].used, 40);
	for (unsigned b = 0; b < 40; b++) {
		unsigned high = b * 128;

		for (unsigned e = high; e < n && e < (b + 1) * 128; e++)
			high = live[e] > live[high] ? e : high;
		CHECK_EQ(t[0].bins[b].at, high);
		CHECK_EQ(t[0].bins[b].live, live[high]);
		CHECK_EQ(t[1].bins[b].at, b * 128);
	}
}

static void history_extremes(void)
{
	struct mz_history *c = mz_history_new();

	mz_history_tick(c, 0, 0, 0);
	mz_history_came(c, 4096, 1, 1, 1, 1);
	mz_history_tick(c, UINT64_MAX, 1, 1);
	mz_history_went(c, 4096, 1, 1, 0, true, 0, 0);
	CHECK(c->time.used <= MZ_HISTORY_BINS);
	CHECK_EQ(c->time.bins[c->time.used - 1].live, 0);
	CHECK_EQ(c->time.bins[c->time.used - 1].high, 1);
	mz_history_free(c);
}

static void flame(void)
{
	struct mz_tables *names = mz_tables_new();
	struct mz_flame f;
	struct mz_flame_cut cut;
	uint64_t total = 0;
	uint32_t id[20];

	for (int i = 0; i < 20; i++)
		id[i] = mz_tables_string(names, &"abcdefghijklmnopqrst"[i], 1);
	CHECK_EQ(mz_flame_init(&f, names), 0);
	for (int i = 0; i < 20000; i++) {
		uint32_t path[6];
		uint64_t value[MZ_FLAME_VALUES] = {random_below(&seed, 1000), 1};
		size_t depth = 1 + random_below(&seed, 6);

		for (size_t k = 0; k < depth; k++)
			path[k] = id[random_below(&seed, 20)];
		total += value[0];
		CHECK_EQ(mz_flame_add(&f, path, depth, value), 0);
	}
	CHECK(mz_flame_add(&f, (uint32_t[]){id[0], 0}, 2, (uint64_t[MZ_FLAME_VALUES]){1}) < 0);
	CHECK_EQ(f.nodes[0].value[0], total);
	CHECK_EQ(f.nodes[0].value[1], 20000);
	for (uint32_t most = 1; most < 100000; most *= 7) {
		uint32_t shown = 0;

		CHECK_EQ(mz_flame_cut(&f, most, &cut), 0);
		for (uint32_t i = 0; i < f.count; i++) {

			shown += cut.shown[i] != 0;
			CHECK(!cut.shown[i] || !i || cut.shown[f.nodes[i].parent]);
		}
		CHECK(shown <= most || most == 1);
		CHECK_EQ(shown, cut.kept);
		CHECK_EQ(shown + cut.folded, f.count);
		CHECK(f.count > most || !cut.folded);
		free(cut.shown);
	}
	mz_flame_deinit(&f);
	mz_tables_free(names);
}

int main(void)
{
	RUN(history);
	RUN(space_extremes);
	RUN(space_any_order);
	RUN(runs);
	RUN(history_extremes);
	RUN(flame);
	return test_end();
}
