/* SPDX-License-Identifier: BSD-2-Clause */
/* The size of a class whose objects come and go: the average of its live bytes. */
#ifndef MZ_ANALYSIS_KMAP_SIZES_H
#define MZ_ANALYSIS_KMAP_SIZES_H

#include "analysis/kmap_union.h"

/* Sets the sizes (now) of the classes of one map by the lives of its objects. of, timed:
 * by class of the map. 0 or -ENOMEM. */
int mz_union_live_sizes(struct mz_union *u, const struct mz_kmap_model *m, const uint32_t *of,
			const bool *timed);

#endif
