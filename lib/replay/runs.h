/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of repeated runs, and whether two series of runs differ by more than their noise. */
#ifndef MZ_REPLAY_RUNS_H
#define MZ_REPLAY_RUNS_H

enum mz_run_figure {
	MZ_RUN_NS,     /* an event */
	MZ_RUN_PEAK,   /* bytes of RSS that the replay added */
	MZ_RUN_AFTER,  /* the same at its end */
	MZ_RUN_FAULTS, /* of pages */
	MZ_RUN_FIGURES
};

/* The runs of one contestant. */
struct mz_runs {
	unsigned n;
	double *of[MZ_RUN_FIGURES]; /* by run, until they are sorted */
};

/* Room for n runs, at least one. 0 or -ENOMEM; deinit in any case. */
int mz_runs_init(struct mz_runs *r, unsigned n);
void mz_runs_deinit(struct mz_runs *r);

/* Once all runs are in; everything below expects it. */
void mz_runs_sort(struct mz_runs *r);

double mz_runs_median(const struct mz_runs *r, enum mz_run_figure f);
/* From the least to the greatest, in % of the median. */
double mz_runs_spread(const struct mz_runs *r, enum mz_run_figure f);

/* With 4 and 4 runs, chance alone separates two contestants in 1 of 35 cases. */
#define MZ_RUNS_ENOUGH 4

/* 1: a is faster than b, beyond the noise: each of its runs is faster than every run of b. -1: b is
 * faster. 0: neither, or there are too few runs to tell. Both have the same number. */
int mz_runs_faster(const struct mz_runs *a, const struct mz_runs *b);

#endif
