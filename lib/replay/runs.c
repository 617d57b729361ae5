// SPDX-License-Identifier: BSD-2-Clause
/* Figures of repeated runs, and whether two series of runs differ by more than their noise. */
#include "replay/runs.h"

#include <errno.h>
#include <stdlib.h>

int mz_runs_init(struct mz_runs *r, unsigned n)
{
	*r = (struct mz_runs){.n = n};
	for (unsigned i = 0; i < MZ_RUN_FIGURES; i++) {
		r->of[i] = calloc(n, sizeof(double));
		if (!r->of[i])
			return -ENOMEM;
	}
	return 0;
}

void mz_runs_deinit(struct mz_runs *r)
{
	for (unsigned i = 0; i < MZ_RUN_FIGURES; i++)
		free(r->of[i]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void mz_runs_sort(struct mz_runs *r)
{
	for (unsigned i = 0; i < MZ_RUN_FIGURES; i++)
		qsort(r->of[i], r->n, sizeof(double), by_value);
}

double mz_runs_median(const struct mz_runs *r, enum mz_run_figure f)
{
	const double *x = r->of[f];
	unsigned n = r->n;

	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double mz_runs_spread(const struct mz_runs *r, enum mz_run_figure f)
{
	double m = mz_runs_median(r, f);

	return m > 0 ? (r->of[f][r->n - 1] - r->of[f][0]) / m * 100 : 0;
}

/* Noise on a machine has no known distribution, so only the order of the runs counts. */
int mz_runs_faster(const struct mz_runs *a, const struct mz_runs *b)
{
	const double *x = a->of[MZ_RUN_NS], *y = b->of[MZ_RUN_NS];
	unsigned n = a->n;

	if (n < MZ_RUNS_ENOUGH)
		return 0;
	return x[n - 1] < y[0] ? 1 : y[n - 1] < x[0] ? -1 : 0;
}
