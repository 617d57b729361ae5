// SPDX-License-Identifier: BSD-2-Clause
/* Merge many KMAPs into their union, as lines or as a container. */
#include <string.h>

#include "cmds/kmap/kmap_opts.h"
#include "export/kmap.h"

static bool is_container(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n > 4 && !strcmp(path + n - 4, ".cmt");
}

int kmap_merge(const struct kmap_opts *o, int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_union u;
	int ret;

	if (!argc)
		return console_usage("merge takes the KMAPs to be merged");
	if (mz_union_init(&u) < 0)
		return console_fail("out of memory");
	ret = kmap_load_maps(&u, o, argc, argv, &err);
	if (ret >= 0)
		ret = is_container(o->output)
			      ? mz_union_write_container(&u, o->output, o->force, &err)
			      : mz_union_write_lines(&u, o->output, o->force, &err);
	if (ret >= 0 && o->output)
		console_note("%zu maps: %zu classes of objects, %zu accesses, %zu calls in %s",
			     u.n_runs, u.n_objects, u.n_edges, u.n_calls, o->output);
	mz_union_deinit(&u);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}
