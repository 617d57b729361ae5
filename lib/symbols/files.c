// SPDX-License-Identifier: BSD-2-Clause
/* Find the files that hold the symbols of a recorded kernel. */
#include "symbols/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* *path: NULL if there is no such file that can be read. */
/* A file that is not there is no error: most recordings have only some of them. */
static int keep(struct mz_symbols_files *f, const char *dir, size_t len, const char *name,
		const char **path, struct mz_error *err)
{
	char *p;

	*path = NULL;
	if (f->n == MZ_SYMBOLS_FILES)
		return 0;
	if (asprintf(&p, "%.*s%s", (int)len, dir, name) < 0)
		return mz_fail_memory(err);
	if (access(p, R_OK)) {
		free(p);
		return 0;
	}
	f->paths[f->n++] = p;
	*path = p;
	return 0;
}

/* A file of another kind stays in the list, which frees its path, and is not used. */
static int add(struct mz_symbols_files *f, const char *dir, size_t len, const char *name,
	       struct mz_error *err)
{
	const char *path;
	int ret = keep(f, dir, len, name, &path, err);

	f->some |= path && mz_symbols_sort(path, &f->kernel);
	return ret;
}

/* A folder holds them under their usual names. */
static int add_folder(struct mz_symbols_files *f, const char *dir, size_t len, struct mz_error *err)
{
	static const char *const names[] = {"kallsyms", "System.map", "System.map.files", "vmlinux",
					    "global_table"};
	int ret = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !ret; i++)
		ret = add(f, dir, len, names[i], err);
	return ret;
}

/* Both are tried: files with fixed names in the folder, and NAME.kallsyms for a recording
 * NAME.kmap or NAME.kmap.zst. */
int mz_symbols_files_beside(struct mz_symbols_files *f, const char *path, struct mz_error *err)
{
	static const char *const ends[] = {".zst", ".gz", ".kmap", ".cmt"};
	const char *slash = strrchr(path, '/');
	size_t dir = slash ? (size_t)(slash - path) + 1 : 0, len = strlen(path);
	int ret = add_folder(f, path, dir, err);

	if (len == dir)
		return ret;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);

		if (len > dir + n && !strncmp(path + len - n, ends[i], n))
			len -= n;
	}
	if (!ret)
		ret = add(f, path, len, ".kallsyms", err);
	return ret ? ret : add(f, path, len, ".vmlinux", err);
}

/* A folder may hold modules too. */
static int add_one(struct mz_symbols_files *f, const char *name, size_t len, struct mz_error *err)
{
	const char *path;
	char *dir;
	int ret = keep(f, name, len, "", &path, err);

	if (ret < 0)
		return ret;
	if (!path && f->n == MZ_SYMBOLS_FILES)
		return mz_fail(err, E2BIG, "--symbols: more than %d files", MZ_SYMBOLS_FILES);
	if (!path)
		return mz_fail(err, ENOENT, "%.*s: no such file, or it cannot be read", (int)len,
			       name);
	if (!mz_symbols_sort(path, &f->kernel))
		return mz_fail(err, EINVAL,
			       "%s: not a kallsyms, System.map or vmlinux file; --symbols takes "
			       "those, or a folder with them",
			       path);
	f->some = true;
	if (f->kernel.modules != path)
		return 0;
	if (asprintf(&dir, "%s/", path) < 0)
		return mz_fail_memory(err);
	ret = add_folder(f, dir, strlen(dir), err);
	free(dir);
	return ret;
}

int mz_symbols_files_named(struct mz_symbols_files *f, const char *list, struct mz_error *err)
{
	int ret = 0;

	while (*list && !ret) {
		size_t len = strcspn(list, ",");

		ret = add_one(f, list, len, err);
		list += len + (list[len] == ',');
	}
	return ret;
}

void mz_symbols_files_deinit(struct mz_symbols_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->paths[i]);
	*f = (struct mz_symbols_files){0};
}
