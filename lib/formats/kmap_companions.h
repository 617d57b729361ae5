/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a kernel writes with its KMAP, and that are kept beside it. */
#ifndef MZ_FORMATS_KMAP_COMPANIONS_H
#define MZ_FORMATS_KMAP_COMPANIONS_H

#include <stddef.h>

struct mz_error;
struct mz_kmap;

/* Opens a file that belongs to a map. For X.kmap (X.kmap.zst, X.kmap.gz), its name is X followed by
 * end; for a map called `kmap`, it is one of two names in the same folder. Returns a descriptor and
 * sets the path; -1: there is no such file. */
int mz_kmap_open_beside(const char *map, const char *end, const char *const names[2], char *path,
			size_t size);

/* Opens the calls of a map: X.calls, or function_calls or cfgmap. 1 with *calls set, which the
 * caller closes; 0 = there is no such file; -errno with err set. */
int mz_kmap_calls_beside(const char *map, struct mz_kmap **calls, struct mz_error *err);

#endif
