/* SPDX-License-Identifier: BSD-2-Clause */
/* What changed from one recording to another, in total and by place. */
#ifndef MZ_ANALYSIS_DIFF_H
#define MZ_ANALYSIS_DIFF_H

#include "analysis/profile.h"

struct mz_diff_row {
	const char *name;
	struct mz_heap_sum a, b;
	uint64_t stacks_a, stacks_b; /* how many are of this name; 0 = it is not there */
};

struct mz_diff {
	struct mz_heap_sum a, b; /* the whole */
	uint32_t has;		 /* known in both: enum mz_profile_has */
	struct mz_diff_row *rows;
	size_t n, cap;
	struct mz_tables *names; /* number - 1 is the row */
};

/* 0 or -errno with err set. Recordings of different kinds are an error. */
int mz_diff_make(struct mz_diff *d, const struct mz_profile *a, const struct mz_profile *b,
		 enum mz_compare_by by, struct mz_error *err);
void mz_diff_deinit(struct mz_diff *d);

/* By how much a value changed, the greatest change first; then by name. v: NULL = by name. */
void mz_diff_sort(struct mz_diff *d, const struct mz_profile_value *v);

#endif
