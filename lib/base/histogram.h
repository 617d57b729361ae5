/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of 64-bit values in fixed memory. */
/*
 * It is exact below 256, and within 1/128 (0.8 %) above. Count, sum, least and greatest are exact.
 */
#ifndef MZ_BASE_HISTOGRAM_H
#define MZ_BASE_HISTOGRAM_H

#include <stdint.h>

#define MZ_HIST_STEPS 128 /* steps in each doubling */
#define MZ_HIST_SLOTS (MZ_HIST_STEPS * 58)

struct mz_histogram {
	uint64_t count;
	uint64_t sum;
	uint64_t min, max;
	uint64_t slots[MZ_HIST_SLOTS];
};

void mz_histogram_add(struct mz_histogram *h, uint64_t v);
void mz_histogram_add_many(struct mz_histogram *h, uint64_t v, uint64_t count);

/* The value that this share of all values (0 to 1) does not exceed. */
uint64_t mz_histogram_quantile(const struct mz_histogram *h, double share);

/* How many values are in [2^bit, 2^(bit+1)); bit 0 counts 0 and 1. */
uint64_t mz_histogram_doubling(const struct mz_histogram *h, unsigned bit);

#endif
