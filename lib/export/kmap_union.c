// SPDX-License-Identifier: BSD-2-Clause
/* Write the union of KMAPs as lines or as a container. */
#include <string.h>

#include "base/error.h"
#include "base/output.h"
#include "export/kmap.h"

struct union_output {
	struct mz_error *err;
	struct mz_output lines;
	struct mz_kmap_container container;
};

static int put_line(void *arg, const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	struct union_output *t = arg;
	char *p = mz_output_room(&t->lines, MZ_KMAP_ROOM + rec->line.len + 1024, t->err);
	size_t n;

	if (!p)
		return mz_error_code(t->err);
	if (rec->line.len) {
		memcpy(p, rec->line.p, rec->line.len);
		n = rec->line.len;
	} else {
		n = mz_kmap_format(p, rec, of);
	}
	p[n] = '\n';
	t->lines.len += n + 1;
	return 0;
}

static int pack(void *arg, const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	struct union_output *t = arg;

	(void)of;
	return mz_kmap_container_put(&t->container, rec, t->err);
}

int mz_union_write_lines(struct mz_union *u, const char *output, bool overwrite,
			 struct mz_error *err)
{
	struct union_output t = {.err = err, .lines.file.fd = -1};
	int ret = mz_output_open(&t.lines, output, overwrite, err);

	if (ret >= 0)
		ret = mz_union_write(u, put_line, &t);
	return mz_output_end(&t.lines, ret, err);
}

int mz_union_write_container(struct mz_union *u, const char *output, bool overwrite,
			     struct mz_error *err)
{
	struct union_output t = {.err = err};
	int ret = mz_kmap_container_open(&t.container, output, true, overwrite, err);

	if (!ret)
		ret = mz_union_write(u, pack, &t);
	if (!ret)
		ret = mz_kmap_container_close(&t.container, u->files_cut, err);
	mz_kmap_container_abort(&t.container);
	return ret;
}
