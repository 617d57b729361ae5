/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a kernel writes with its KMAP, and that are kept beside it. */
#ifndef MZ_FORMATS_KMAP_BESIDE_H
#define MZ_FORMATS_KMAP_BESIDE_H

#include <stddef.h>

struct mz_error;
struct mz_kmap;

/* Of the map X.kmap (X.kmap.zst, X.kmap.gz): X followed by end; of a map called `kmap`: one of
 * two names in its folder. A descriptor to read it, and its path; -1: there is none. */
int mz_kmap_open_beside(const char *map, const char *end, const char *const names[2], char *path,
			size_t size);

/* The calls of a map: X.calls, or function_calls or cfgmap. 1 with *calls set, the caller's to
 * close; 0 = there is no such file; -errno with err set. */
int mz_kmap_calls_beside(const char *map, struct mz_kmap **calls, struct mz_error *err);

#endif
