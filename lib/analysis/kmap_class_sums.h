/* SPDX-License-Identifier: BSD-2-Clause */
/* The classes of a KMAP, added up by type or by cache. */
#ifndef MZ_ANALYSIS_KMAP_CLASS_SUMS_H
#define MZ_ANALYSIS_KMAP_CLASS_SUMS_H

#include "analysis/kmap.h"

struct mz_kmap_class_sum {
	uint32_t name; /* of the type or cache, for mz_kmap_string() */
	uint64_t kinds, objects, bytes, live, untouched, reads, writes;
};

/* By type, or else by cache; the most bytes first. The caller frees them. NULL: no memory, or a
 * map without classes. */
struct mz_kmap_class_sum *mz_kmap_class_sums(const struct mz_kmap_model *m, bool types,
					     size_t *count);

#endif
