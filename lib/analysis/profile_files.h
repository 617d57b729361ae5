/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that hold a profile and no events; and a KMAP's model as one. */
#ifndef MZ_ANALYSIS_PROFILE_FILES_H
#define MZ_ANALYSIS_PROFILE_FILES_H

#include "analysis/profile.h"
#include "base/input.h"
#include "formats/sums.h"

struct mz_kmap_model;

/* Into a profile that was just made. 0 or -errno with err set. */
int mz_dhat_read(struct mz_profile *p, struct mz_input *in, struct mz_error *err);
int mz_allocinfo_read(struct mz_profile *p, struct mz_input *in, struct mz_error *err);

/* A stack for each class of objects: the function that allocates, and what. */
int mz_profile_of_kmap(struct mz_profile *p, const struct mz_kmap_model *m, struct mz_error *err);

#endif
