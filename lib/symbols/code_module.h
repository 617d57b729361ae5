/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of a kernel module: counted in its file, placed where the kernel loaded it. */
#ifndef MZ_SYMBOLS_CODE_MODULE_H
#define MZ_SYMBOLS_CODE_MODULE_H

#include "symbols/code.h"
#include "symbols/image.h"
#include "symbols/kallsyms.h"

struct mz_code_module {
	char name[64];	     /* as the kernel calls it */
	struct mz_code code; /* its functions are called "name [module]" */
	struct mz_image *image;
	const char **files; /* by function: its source file; "" = not known */
	size_t unplaced;    /* functions whose address is not known: from the start of the file */
	bool loaded;	    /* the list has functions of the module */
};

/* k: a list of the kernel that loaded it, or NULL. 0 or -errno with err set (EINVAL: the list is
 * of another build of it); deinit in both cases. */
int mz_code_module_read(struct mz_code_module *m, const char *path, const struct mz_kallsyms *k,
			struct mz_error *err);
void mz_code_module_deinit(struct mz_code_module *m);

#endif
