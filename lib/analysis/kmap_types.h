/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures of classes of objects. */
#ifndef MZ_ANALYSIS_KMAP_TYPES_H
#define MZ_ANALYSIS_KMAP_TYPES_H

#include "analysis/kmap.h"

/* types: the model's from now on, in failure too. shift: how far the kernel was moved.
 * 0 or -ENOMEM. */
int mz_kmap_find_types(struct mz_kmap_model *m, struct mz_types *types, int64_t shift);

/* What the compiler's tables say about the code of the kernel and of its modules and, by that,
 * about the objects. A kernel without a table is no error. After mz_kmap_find_types. 0 or -errno
 * with err set. */
int mz_kmap_find_members(struct mz_kmap_model *m, const struct mz_symbols_kernel *files,
			 int64_t shift, struct mz_error *err);

#endif
