// SPDX-License-Identifier: BSD-2-Clause
/* Answer the question about the privilege measures of a KMAP. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/privilege_rows.h"
#include "base/error.h"

/* A cut needs functions, so the levels that do not follow from a function (cache, process) have
 * none. */
static int level_of(uint32_t by, enum mz_cut_level *level)
{
	switch (by) {
	case MZ_KMAP_BY_DIR: *level = MZ_CUT_DIR; return 0;
	case MZ_KMAP_BY_FILE: *level = MZ_CUT_FILE; return 0;
	case MZ_KMAP_BY_FUNCTION: *level = MZ_CUT_FUNCTION; return 0;
	default: return -EINVAL;
	}
}

/* A vmlinux of another kernel would count instructions that never ran. The check comes first,
 * because all that follows would still look right. */
static int measure(struct mz_analysis *a, struct mz_union *u, enum mz_cut_level level,
		   struct mz_result_table *t)
{
	struct mz_functions f = {0};
	struct mz_privilege p = {0};
	char *vmlinux = NULL;
	int ret = mz_functions_open(&f, a->symbols, a->paths[0], &vmlinux, &a->error);

	if (ret >= 0)
		ret = mz_privilege_check(u, vmlinux, &a->error);
	if (ret >= 0)
		ret = mz_privilege_init(&p, u, &f, &a->error);
	if (ret >= 0)
		ret = mz_privilege_table(&p, level, t, &a->error);
	mz_privilege_deinit(&p);
	mz_functions_deinit(&f);
	free(vmlinux);
	return ret;
}

/* The measures are defined on a union of maps; here it has one map, which was read with its
 * lives. */
int mz_analysis_privilege(struct mz_analysis *a, struct mz_result_table *t)
{
	enum mz_cut_level level;
	struct mz_union u;
	int ret;

	if (level_of(a->o.by, &level) < 0)
		return mz_fail(&a->error, EINVAL,
			       "privilege is measured by folder, file or function");
	if (mz_union_init(&u) < 0)
		return mz_fail_memory(&a->error);
	if (mz_union_add(&u, &a->model, a->paths[0]) < 0 || mz_union_finish(&u) < 0)
		ret = mz_fail_memory(&a->error);
	else
		ret = measure(a, &u, level, t);
	mz_union_deinit(&u);
	return ret;
}
