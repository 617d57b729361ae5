// SPDX-License-Identifier: BSD-2-Clause
/* Count the functions of a kernel in its image and in the files of its modules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/functions.h"
#include "base/error.h"
#include "symbols/files.h"
#include "symbols/image.h"

/* The home of a function is the file that it was written in. Only debugging information says it. */
static int add_image(struct mz_functions *f, const char *path, struct mz_error *err)
{
	struct mz_image *im = mz_image_open(path, true, err);
	struct mz_code code = {0};
	int ret = im ? mz_code_read(&code, path, err) : -EINVAL;

	for (size_t i = 0; ret >= 0 && i < code.n; i++) {
		struct mz_image_place at = {0};
		bool found = mz_image_find(im, code.functions[i].start, &at);

		if (mz_functions_add(f, &code.functions[i], found && at.home ? at.home : "") < 0)
			ret = mz_fail_memory(err);
	}
	mz_code_deinit(&code);
	mz_image_free(im);
	return ret < 0 ? ret : 0;
}

int mz_functions_count(struct mz_functions *f, const char *path, struct mz_error *err)
{
	int ret;

	*f = (struct mz_functions){0};
	ret = add_image(f, path, err);
	if (ret >= 0 && mz_functions_end(f) < 0)
		ret = mz_fail_memory(err);
	return ret;
}

/* A module without calls of a sanitizer would make all reads and writes unknown, although the map
 * contains none of that module. */
static int add_module(void *arg, const char *path, const struct mz_code_module *m)
{
	struct mz_functions *f = arg;
	int ret = 0;

	(void)path;
	if (m->code.n && m->code.functions[0].missing & ~f->missing) {
		f->modules_plain++;
		return 0;
	}
	for (size_t i = 0; i < m->code.n && !ret; i++)
		ret = mz_functions_add(f, &m->code.functions[i], m->files[i]);
	return ret;
}

/* Only the list of symbols says which modules were loaded, and where. */
static int add_modules(struct mz_functions *f, const struct mz_symbols_kernel *files,
		       struct mz_error *err)
{
	struct mz_kallsyms *k = mz_kallsyms_load(files->kallsyms, err);
	int ret;

	if (!k)
		return -EINVAL;
	ret = mz_code_modules_read(files->modules, k, add_module, f, &f->modules);
	mz_kallsyms_free(k);
	return ret < 0 ? mz_fail_memory(err) : 0;
}

/* Modules come after the image: what the image cannot count decides whether a module is left
 * out. */
static int count_kernel(struct mz_functions *f, const struct mz_symbols_kernel *files,
			struct mz_error *err)
{
	int ret = add_image(f, files->vmlinux, err);

	if (ret >= 0 && files->kallsyms)
		ret = add_modules(f, files, err);
	if (ret >= 0 && mz_functions_end(f) < 0)
		ret = mz_fail_memory(err);
	return ret;
}

/* The path of vmlinux goes to the caller, who checks with it that the map is of this kernel. */
int mz_functions_open(struct mz_functions *f, const char *symbols, const char *map, char **vmlinux,
		      struct mz_error *err)
{
	struct mz_symbols_files files = {0};
	int ret = 0;

	*f = (struct mz_functions){0};
	*vmlinux = NULL;
	if (symbols)
		ret = mz_symbols_files_named(&files, symbols, err);
	else if (strcmp(map, "-"))
		ret = mz_symbols_files_beside(&files, map, err);
	if (ret >= 0 && !files.kernel.vmlinux)
		ret = mz_fail(err, ENOENT,
			      "the instructions of the kernel's functions are not known: name its "
			      "vmlinux with --symbols, or a table of them with --functions");
	if (ret >= 0) {
		*vmlinux = strdup(files.kernel.vmlinux);
		ret = *vmlinux ? count_kernel(f, &files.kernel, err) : mz_fail_memory(err);
	}
	mz_symbols_files_deinit(&files);
	return ret;
}
