/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures that classes of objects are. */
#ifndef MZ_ANALYSIS_KMAP_TYPES_H
#define MZ_ANALYSIS_KMAP_TYPES_H

#include "analysis/kmap.h"

/* types: the model's from now on, in failure too. shift: how far the kernel was moved.
 * 0 or -ENOMEM. */
int mz_kmap_find_types(struct mz_kmap_model *m, struct mz_types *types, int64_t shift);

#endif
