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

/* Parses the text that the kernel writes; lines that contain no losses are skipped. */
void mz_kmap_stats_parse(const char *text, struct mz_kmap_stats *s);

/* Reads the statistics of a map: X.stats for X.kmap (X.kmap.zst, X.kmap.gz); stats or show_stats in
 * the same folder for a map called `kmap`. False: there is no such file. */
bool mz_kmap_stats_beside(const char *map, struct mz_kmap_stats *s);

#endif
