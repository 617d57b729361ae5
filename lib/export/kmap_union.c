// SPDX-License-Identifier: BSD-2-Clause
/* Write the union of KMAPs as lines or as a container. */
#include "base/error.h"
#include "base/output.h"
#include "export/kmap.h"

/* Where the records of a union go: one of the two is in use. */
struct union_output {
	struct mz_error *err;
	struct mz_output lines;
	struct mz_buf line;
	struct mz_kmap_container container;
};

/* A name may be of any length, so the line is made outside the buffer of the output. */
static int put_line(void *arg, const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	struct union_output *t = arg;

	if (mz_kmap_line(&t->line, rec, of) < 0)
		return mz_fail_memory(t->err);
	mz_buf_add(&t->line, "\n", 1);
	if (t->line.failed)
		return mz_fail_memory(t->err);
	return mz_output_add(&t->lines, t->line.data, t->line.len, t->err);
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
	mz_buf_free(&t.line);
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
