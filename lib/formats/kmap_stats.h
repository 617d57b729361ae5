/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorder of a KMAP lost: the kernel's file `stats`, which `memorizer vm`
 * leaves beside the map, or that of an upstream kernel. */
#ifndef MZ_FORMATS_KMAP_STATS_H
#define MZ_FORMATS_KMAP_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct mz_kmap_stats {
	uint64_t accesses_missed;
	uint64_t accesses_nameless; /* counted, but not by process */
	uint64_t objects_missed;
	uint64_t objects_dropped; /* freed ones, to make room: they are not in the map */
};

/* A text as the kernel writes it; lines that say nothing of loss are passed over. */
void mz_kmap_stats_parse(const char *text, struct mz_kmap_stats *s);

/* Of the map X.kmap (X.kmap.zst, X.kmap.gz): X.stats; of a map called `kmap`: stats or
 * show_stats in its folder. False: there is none. */
bool mz_kmap_stats_beside(const char *map, struct mz_kmap_stats *s);

#endif
