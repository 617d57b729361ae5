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

/* The modules that a kernel had loaded, and those of them that are left out, by cause. */
struct mz_code_modules {
	size_t loaded;
	size_t no_file;	   /* there is none in the folder */
	size_t unreadable; /* no module, or one of another build than the list */
	size_t unplaced;   /* the list has no name of it that is unique on both sides */
};

/* Reads the files of all modules of the list that are below the folder (NULL: none), by name. put
 * returns 0 or -ENOMEM, which ends it. 0 or -ENOMEM. */
typedef int mz_code_module_put(void *arg, const char *path, const struct mz_code_module *m);
int mz_code_modules_read(const char *dir, const struct mz_kallsyms *k, mz_code_module_put *put,
			 void *arg, struct mz_code_modules *c);

#endif
