// SPDX-License-Identifier: BSD-2-Clause
/* Repeated runs: their median and spread, and when one series is faster than another. */
#include "replay/runs.h"

#include "tests/unit/test.h"

/* The times of n runs, in the order in which they were made; the other figures stay 0. */
static struct mz_runs runs(unsigned n, const double *ns)
{
	struct mz_runs r;

	CHECK_EQ(mz_runs_init(&r, n), 0);
	for (unsigned i = 0; i < n; i++)
		r.of[MZ_RUN_NS][i] = ns[i];
	mz_runs_sort(&r);
	return r;
}

static void median_and_spread(void)
{
	struct mz_runs odd = runs(5, (double[]){30, 10, 50, 20, 40});
	struct mz_runs even = runs(4, (double[]){40, 10, 30, 20});
	struct mz_runs one = runs(1, (double[]){7});

	CHECK(mz_runs_median(&odd, MZ_RUN_NS) == 30);
	CHECK(mz_runs_median(&even, MZ_RUN_NS) == 25);
	CHECK(mz_runs_median(&one, MZ_RUN_NS) == 7);
	CHECK(mz_runs_spread(&even, MZ_RUN_NS) == 120);
	CHECK(mz_runs_spread(&one, MZ_RUN_NS) == 0);
	CHECK(mz_runs_median(&odd, MZ_RUN_PEAK) == 0);
	CHECK(mz_runs_spread(&odd, MZ_RUN_PEAK) == 0);
	mz_runs_deinit(&odd);
	mz_runs_deinit(&even);
	mz_runs_deinit(&one);
}

static int faster(unsigned n, const double *a, const double *b)
{
	struct mz_runs x = runs(n, a), y = runs(n, b);
	int ret = mz_runs_faster(&x, &y);

	CHECK_EQ(mz_runs_faster(&y, &x), -ret);
	mz_runs_deinit(&x);
	mz_runs_deinit(&y);
	return ret;
}

static void beyond_the_noise(void)
{
	const double few[] = {4, 1, 3, 2}, more[] = {8, 5, 7, 6}, touching[] = {8, 4, 7, 6};

	CHECK_EQ(faster(4, few, more), 1);
	CHECK_EQ(faster(4, few, touching), 0);
	CHECK_EQ(faster(4, few, few), 0);
	CHECK_EQ(faster(MZ_RUNS_ENOUGH - 1, few, more), 0);
}

int main(void)
{
	RUN(median_and_spread);
	RUN(beyond_the_noise);
	return test_end();
}
