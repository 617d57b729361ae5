/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a change stands out from the noise. */
#ifndef MZ_STORE_STATISTICS_H
#define MZ_STORE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mz_spread {
	size_t n;
	double mean, deviation; /* of the sample: n - 1 */
};
struct mz_spread mz_spread_of(const uint64_t *x, size_t n);

/* The chance that equal programs differ by this much or more, b above a (Student's t with
 * one variance for both; 0 where nothing varies and b is greater). */
double mz_chance_t(const struct mz_spread *a, const struct mz_spread *b);

/* Where a series rises. */
struct mz_rise {
	size_t at;     /* the first after it */
	double chance; /* of the best of all splits, times their number; at most 1 */
	size_t splits;
};

/*
 * The split that the ranks on both sides differ by most (Mann and Whitney's U with ties, the
 * normal approximation, one-sided). Ranks make it hold for any distribution of the noise.
 * may: whether a split before x[i] is allowed; least: runs on either side. false: no split is
 * possible, or no memory.
 */
bool mz_find_rise(const uint64_t *x, size_t n, const bool *may, size_t least, struct mz_rise *r);

/* The least chance that ranks of a runs before a change and b after it can give: all of one side
 * are equal, and so are all of the other, above them. */
double mz_least_chance(size_t a, size_t b);
/* How many runs either side needs so that a change can be less likely than `chance` if this many
 * tests are made; no fewer than least. */
size_t mz_runs_needed(double chance, size_t tests, size_t least);

#endif
