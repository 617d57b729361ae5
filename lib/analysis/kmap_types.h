/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures of classes of objects. */
#ifndef MZ_ANALYSIS_KMAP_TYPES_H
#define MZ_ANALYSIS_KMAP_TYPES_H

#include "analysis/kmap.h"

/* types: the model's from now on, in failure too. shift: how far the kernel was moved.
 * 0 or -ENOMEM. */
int mz_kmap_find_types(struct mz_kmap_model *m, struct mz_types *types, int64_t shift);

/* What the compiler's table says about the code and, by that, about the objects. After
 * mz_kmap_find_types. 0 or -ENOMEM. */
struct mz_access_sites;
int mz_kmap_find_members(struct mz_kmap_model *m, const struct mz_access_sites *sites,
			 int64_t shift);

#endif
