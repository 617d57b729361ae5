/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of kernel modules (.ko) in a folder and the folders below it. */
#ifndef MZ_SYMBOLS_MODULE_FILES_H
#define MZ_SYMBOLS_MODULE_FILES_H

#include <stddef.h>

struct mz_module_files {
	char **paths; /* sorted */
	size_t n, cap;
};

/* dir NULL: none. 0 or -ENOMEM; deinit in both cases. */
int mz_module_files_scan(struct mz_module_files *f, const char *dir);
void mz_module_files_deinit(struct mz_module_files *f);

/* The file of a module by the name that the kernel has for it; of several, the one nearest to the
 * folder, then the first by name. NULL: none. */
const char *mz_module_files_find(const struct mz_module_files *f, const char *module);

/* What the kernel calls the module of a file: "a-b.ko" is a_b. */
void mz_module_name(const char *path, char *buf, size_t size);

#endif
