/* SPDX-License-Identifier: BSD-2-Clause */
/* Many profiles added up into one. */
#ifndef MZ_ANALYSIS_PROFILE_MERGE_H
#define MZ_ANALYSIS_PROFILE_MERGE_H

#include "analysis/profile.h"

/*
 * Stacks are the same if their functions, files and lines are (without a file: the module);
 * addresses are not compared. All values are added: of a peak, what was live at the peak of
 * each recording. Only values that all of them have are known of the sum.
 */
struct mz_profile_merge {
	struct mz_profile sum;
	uint64_t recordings;
};

int mz_profile_merge_init(struct mz_profile_merge *m);
void mz_profile_merge_deinit(struct mz_profile_merge *m);
/* 0 or -errno with err set: another kind, a sum over 2^64, no memory. */
int mz_profile_merge_add(struct mz_profile_merge *m, const struct mz_profile *p,
			 struct mz_error *err);
/* Into the order of the names, which does not depend on that of the recordings. out is
 * initialised by the caller. 0 or -errno. */
int mz_profile_merge_end(const struct mz_profile_merge *m, struct mz_profile *out,
			 struct mz_error *err);

#endif
