/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the symbols of a recorded kernel are: in files that were named, or in those beside the
 * recording. */
#ifndef MZ_SYMBOLS_FILES_H
#define MZ_SYMBOLS_FILES_H

#include "symbols/symbols.h"

#define MZ_SYMBOLS_FILES 16

struct mz_symbols_files {
	struct mz_symbols_kernel kernel; /* names in paths */
	char *paths[MZ_SYMBOLS_FILES];
	size_t n;
	bool some; /* of kernel */
};

/* X.kmap: X.kallsyms and X.vmlinux, or what its folder has under the usual names. A path
 * that ends with '/' is that folder. 0 or -ENOMEM. */
int mz_symbols_files_beside(struct mz_symbols_files *f, const char *path, struct mz_error *err);
/* Files and folders, with commas between; they replace what was found before. 0, or
 * -errno with err set. */
int mz_symbols_files_named(struct mz_symbols_files *f, const char *list, struct mz_error *err);
void mz_symbols_files_deinit(struct mz_symbols_files *f);

#endif
