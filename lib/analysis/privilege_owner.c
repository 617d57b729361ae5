// SPDX-License-Identifier: BSD-2-Clause
/* Find the owners of objects: the allocating function, or the functions of a variable's file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/privilege.h"

/*
 * Files are compared as they stand below the root of the kernel's tree. A list of variables that
 * the kernel printed has whole paths: as in the published scripts, what follows the last folder
 * "linux", "linux-mainline" and so on counts.
 */
static const char *below_root(const char *path)
{
	const char *found = path;

	if (*path != '/')
		return path;
	for (const char *p = path; (p = strstr(p, "/linux")); p++) {
		size_t n = strspn(p + 6, "abcdefghijklmnopqrstuvwxyz-");

		if (p[6 + n] == '/')
			found = p + 6 + n + 1;
	}
	return found;
}

/* Numbers the files of the functions. One that is not known is no file: its functions share
 * nothing. */
static int number_files(struct mz_privilege *p, struct mz_bytes_index *files)
{
	char path[MZ_CUT_PATH];

	for (size_t i = 0; i < p->f->n; i++) {
		const char *file = mz_functions_text(p->f, p->f->functions[i].file);
		uint32_t *to = &p->owners.function_file[i];

		*to = UINT32_MAX;
		if (!*file)
			continue;
		mz_cut_path(below_root(file), path);
		*to = mz_bytes_index_put(files, path, strlen(path));
		if (*to == MZ_HASH_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* known: files of functions. One without functions, as a table of constants, owns nothing. */
static int find_file(const struct mz_union *u, const struct mz_union_object *o,
		     struct mz_bytes_index *files, size_t known, uint32_t *to)
{
	const char *file = mz_union_string(u, o->file);
	char path[MZ_CUT_PATH];

	*to = UINT32_MAX;
	if (o->kind != MZ_UNION_GLOBAL || !*file)
		return 0;
	mz_cut_path(below_root(file), path);
	*to = mz_bytes_index_put(files, path, strlen(path));
	if (*to == MZ_HASH_NONE)
		return -ENOMEM;
	*to = *to < known ? *to : UINT32_MAX;
	return 0;
}

static int find_all(struct mz_privilege *p, struct mz_bytes_index *files)
{
	int ret = number_files(p, files);
	size_t known = files->count;

	for (size_t i = 0; !ret && i < p->u->n_objects; i++) {
		const struct mz_union_object *o = &p->u->objects[i];

		p->owners.allocator[i] = o->kind == MZ_UNION_SITE ? mz_functions_find(p->f, o->id)
								  : MZ_FUNCTION_NONE;
		ret = find_file(p->u, o, files, known, &p->owners.object_file[i]);
	}
	return ret;
}

/* An object that is never touched has no link, and needs no owner. */
static int count_touched(struct mz_privilege *p)
{
	bool *seen = calloc(p->u->n_objects ? p->u->n_objects : 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];
		uint32_t at = e->object;
		enum mz_union_kind kind = p->u->objects[at].kind;

		if (p->accessor[i] == MZ_FUNCTION_NONE || seen[at] ||
		    !(e->reads || e->writes || e->frees))
			continue;
		seen[at] = true;
		p->owners.variables += kind == MZ_UNION_GLOBAL;
		p->owners.variables_without +=
			kind == MZ_UNION_GLOBAL && p->owners.object_file[at] == UINT32_MAX;
		p->owners.sites += kind == MZ_UNION_SITE;
		p->owners.sites_without +=
			kind == MZ_UNION_SITE && p->owners.allocator[at] == MZ_FUNCTION_NONE;
	}
	free(seen);
	return 0;
}

int mz_privilege_find_owners(struct mz_privilege *p)
{
	size_t objects = p->u->n_objects ? p->u->n_objects : 1, functions = p->f->n ? p->f->n : 1;
	struct mz_bytes_index files = {0};
	int ret;

	p->owners.allocator = malloc(objects * sizeof(uint32_t));
	p->owners.object_file = malloc(objects * sizeof(uint32_t));
	p->owners.function_file = malloc(functions * sizeof(uint32_t));
	if (!p->owners.allocator || !p->owners.object_file || !p->owners.function_file)
		return -ENOMEM;
	ret = find_all(p, &files);
	mz_bytes_index_deinit(&files);
	return ret ? ret : count_touched(p);
}
