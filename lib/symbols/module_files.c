// SPDX-License-Identifier: BSD-2-Clause
/* Find the files of kernel modules below a folder. */
#include "symbols/module_files.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MOST  65536	 /* modules; a distribution has some 5,000 */
#define VISIT (4u << 20) /* files; a kernel's tree with its objects has some 200,000 */

/* The kernel makes the name in this way when the module is built: a dash cannot be part of a C
 * name. */
void mz_module_name(const char *path, char *buf, size_t size)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	snprintf(buf, size, "%.*s", (int)strcspn(base, "."), base);
	for (char *p = buf; *p; p++)
		*p = *p == '-' ? '_' : *p;
}

static bool is_module(const FTSENT *e)
{
	return e->fts_info == FTS_F && e->fts_namelen > 3 &&
	       !strcmp(e->fts_name + e->fts_namelen - 3, ".ko");
}

static size_t depth(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* A file near the folder that the user named is more likely the one in question than one far below.
 * Equal depths are ordered by name, so that the same tree gives the same answer. */
static int by_depth(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t i = depth(x), k = depth(y);

	return i != k ? (i < k ? -1 : 1) : strcmp(x, y);
}

/* The limits end a walk through a folder that is no tree of modules, such as the root of a disk.
 * What was found until then is used. */
static int scan(struct mz_module_files *f, FTS *t)
{
	size_t visited = 0;

	for (FTSENT *e; f->n < MOST && visited < VISIT && (e = fts_read(t)); visited++) {
		if (!is_module(e))
			continue;
		if (!mz_array_room((void **)&f->paths, &f->cap, f->n, sizeof(*f->paths)))
			return -ENOMEM;
		f->paths[f->n] = strdup(e->fts_path);
		if (!f->paths[f->n++])
			return -ENOMEM;
	}
	return 0;
}

/* Symbolic links are not followed: a folder of modules has one to its source. */
int mz_module_files_scan(struct mz_module_files *f, const char *dir)
{
	char *roots[] = {(char *)dir, NULL};
	FTS *t;
	int ret;

	*f = (struct mz_module_files){0};
	if (!dir)
		return 0;
	t = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	/* a folder that cannot be read has no modules; without them the report says which are
	 * missing */
	if (!t)
		return errno == ENOMEM ? -ENOMEM : 0;
	ret = scan(f, t);
	fts_close(t);
	if (f->n)
		qsort(f->paths, f->n, sizeof(*f->paths), by_depth);
	return ret;
}

void mz_module_files_deinit(struct mz_module_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->paths[i]);
	free(f->paths);
	*f = (struct mz_module_files){0};
}

const char *mz_module_files_find(const struct mz_module_files *f, const char *module)
{
	char name[128];

	for (size_t i = 0; i < f->n; i++) {
		mz_module_name(f->paths[i], name, sizeof(name));
		if (!strcmp(name, module))
			return f->paths[i];
	}
	return NULL;
}
