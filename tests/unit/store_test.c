// SPDX-License-Identifier: BSD-2-Clause
/* SHA-256 against its standard, and the statistics against tables and against counting. */
#include "store/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

static uint64_t state;

static void hashes(void)
{
	/* FIPS 180-4: "abc", and a million times "a" */
	static const unsigned char abc[4] = {0xba, 0x78, 0x16, 0xbf};
	static const unsigned char million[4] = {0xcd, 0xc7, 0x6e, 0x5c};
	unsigned char out[32];
	struct mz_sha256 s;

	mz_sha256_init(&s);
	mz_sha256_add(&s, "abc", 3);
	mz_sha256_end(&s, out);
	CHECK(!memcmp(out, abc, 4));
	mz_sha256_init(&s);
	for (int i = 0; i < 1000000 / 125; i++) {
		char part[125];

		memset(part, 'a', sizeof(part));
		mz_sha256_add(&s, part, sizeof(part));
	}
	mz_sha256_end(&s, out);
	CHECK(!memcmp(out, million, 4));
	CHECK(mz_sha256_u64("", 0) == 0xe3b0c44298fc1c14ull);
}

/* Ten runs whose mean ends in .5 for every shift: it must come out exact, to round half up. */
static void means(void)
{
	uint64_t x[10];
	int off = 0;

	for (uint64_t shift = 3900000; shift < 3910000; shift++) {
		for (uint64_t i = 0; i < 10; i++)
			x[i] = shift + i * 101 % 1009 * i;
		for (x[9] = shift;
		     ((x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] + x[8] + x[9]) % 10) !=
		     5;)
			x[9]++;
		off += fmod(mz_spread_of(x, 10).mean, 1) != 0.5;
	}
	CHECK(off == 0);
	CHECK(mz_spread_of(x, 0).mean == 0);
}

/* Quantiles of Student's t, as printed tables have them: one-sided. */
static void student(void)
{
	static const struct {
		unsigned degrees;
		double t, p;
	} table[] = {{1, 6.3138, 0.05},	  {2, 4.3027, 0.025},  {5, 3.3649, 0.01},
		     {10, 2.2281, 0.025}, {30, 2.7500, 0.005}, {120, 1.6577, 0.05}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		/* a run against n of deviation d: t = difference / (d * sqrt(1 + 1 / n)) */
		size_t n = table[i].degrees + 1;
		struct mz_spread a = {.n = n, .mean = 100, .deviation = 2};
		struct mz_spread b = {.n = 1};

		b.mean = 100 + table[i].t * 2 * sqrt(1 + 1 / (double)n);
		CHECK(fabs(mz_chance_t(&a, &b) / table[i].p - 1) < 1e-3);
	}
}

/* The share of all ways to choose the last m of n whose ranks are as high or higher. */
static double by_counting(const uint64_t *x, size_t n, size_t m)
{
	unsigned all = 0, high = 0;
	double own = 0, rank[16];

	for (size_t i = 0; i < n; i++) {
		rank[i] = 0.5;
		for (size_t k = 0; k < n; k++)
			rank[i] += x[k] < x[i] ? 1 : x[k] == x[i] ? 0.5 : 0;
	}
	for (size_t i = n - m; i < n; i++)
		own += rank[i];
	for (unsigned set = 0; set < 1u << n; set++) {
		double sum = 0;

		if ((size_t)__builtin_popcount(set) != m)
			continue;
		for (size_t i = 0; i < n; i++)
			sum += set >> i & 1 ? rank[i] : 0;
		all++;
		high += sum >= own - 1e-9;
	}
	return (double)high / all;
}

static void ranks(void)
{
	struct mz_rise r;

	for (int round = 0; round < 200; round++) {
		bool may[14] = {0};
		uint64_t x[14];
		double exact;

		for (size_t i = 0; i < 14; i++)
			x[i] = random_below(&state, round % 2 ? 1000 : 6) + (i >= 7 ? 2 : 0);
		may[7] = true;
		CHECK(mz_find_rise(x, 14, may, 5, &r));
		exact = by_counting(x, 14, 7);
		CHECK(r.splits == 1 && r.at == 7);
		/* the normal approximation, with seven on each side */
		CHECK(fabs(r.chance - exact) < 0.03);
	}
}

/* Where it rises, and that noise alone hardly ever does. */
static void rises(void)
{
	enum { N = 120 };
	bool may[N];
	uint64_t x[N];
	struct mz_rise r;
	int false_ones = 0;

	memset(may, 1, sizeof(may));
	for (int round = 0; round < 400; round++) {
		for (size_t i = 0; i < N; i++)
			x[i] = 1000 + random_below(&state, 100);
		mz_find_rise(x, N, may, 5, &r);
		false_ones += r.chance < 0.05;
	}
	CHECK(false_ones <= 20);
	for (size_t i = 70; i < N; i++)
		x[i] += 100;
	CHECK(mz_find_rise(x, N, may, 5, &r));
	CHECK(r.at == 70 && r.chance < 1e-10);
	memset(x, 0, sizeof(x));
	mz_find_rise(x, N, may, 5, &r);
	CHECK(r.chance == 1);
	CHECK(!mz_find_rise(x, 9, may, 5, &r));
}

int main(void)
{
	RUN(hashes);
	RUN(means);
	RUN(student);
	RUN(ranks);
	RUN(rises);
	return test_end();
}
