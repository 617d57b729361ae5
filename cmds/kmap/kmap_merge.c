// SPDX-License-Identifier: BSD-2-Clause
/* Merge many KMAPs into their union, as lines or as a container. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/output.h"
#include "cmds/kmap/kmap_opts.h"
#include "formats/kmap_events.h"
#include "trace/early_end.h"

struct merge_out {
	struct mz_error err;
	struct mz_output lines;
	struct mz_writer *w; /* NULL: lines */
	struct mz_kmap_packer packer;
};

static int put_line(void *arg, const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	struct merge_out *t = arg;
	char *p = mz_output_room(&t->lines, MZ_KMAP_ROOM + rec->line.len + 1024, &t->err);
	size_t n;

	if (!p)
		return -EIO;
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
	struct merge_out *t = arg;

	(void)of;
	if (mz_kmap_pack(&t->packer, rec) >= 0)
		return 0;
	t->err = *mz_writer_error(t->w);
	return t->err.code ? -t->err.code : mz_fail_memory(&t->err);
}

static int write_lines(struct merge_out *t, const struct kmap_opts *o, struct mz_union *u)
{
	int ret = mz_output_open(&t->lines, o->output, o->force, &t->err);

	if (ret >= 0)
		ret = mz_union_write(u, put_line, t);
	if (ret >= 0)
		return mz_output_commit(&t->lines, &t->err);
	mz_output_abort(&t->lines);
	return ret;
}

static int write_container(struct merge_out *t, const struct kmap_opts *o, struct mz_union *u)
{
	struct mz_writer_options wo = {.best = true, .overwrite = o->force, .discard = true};
	int ret;

	t->w = mz_writer_open(o->output, &wo, &t->err);
	if (!t->w)
		return -EIO;
	mz_kmap_packer_init(&t->packer, t->w);
	ret = mz_writer_set_text(t->w, "source", "kmap") < 0 ? mz_fail_memory(&t->err) : 0;
	if (!ret)
		ret = mz_union_write(u, pack, t);
	if (!ret && mz_kmap_pack_end(&t->packer) < 0)
		ret = mz_fail_memory(&t->err);
	if (!ret) {
		mz_writer_produced(t->w, t->packer.events);
		mz_writer_set_files_cut(t->w, u->files_cut);
		ret = mz_writer_close(t->w, &t->err);
	} else {
		mz_writer_abort(t->w);
	}
	mz_kmap_packer_deinit(&t->packer);
	return ret;
}

static bool is_container(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n > 4 && !strcmp(path + n - 4, ".cmt");
}

int kmap_merge(const struct kmap_opts *o, int argc, char **argv)
{
	struct merge_out t = {.lines.file.fd = -1};
	struct mz_union u;
	int ret;

	if (!argc)
		return console_usage("merge takes the KMAPs to be merged");
	if (mz_union_init(&u) < 0)
		return console_fail("out of memory");
	ret = kmap_load_maps(&u, o, argc, argv, &t.err);
	if (ret >= 0)
		ret = is_container(o->output) ? write_container(&t, o, &u) : write_lines(&t, o, &u);
	if (ret >= 0 && o->output)
		console_note("%zu maps: %zu classes of objects, %zu accesses, %zu calls in %s",
			     u.n_runs, u.n_objects, u.n_edges, u.n_calls, o->output);
	mz_union_deinit(&u);
	return ret < 0 ? console_error(&t.err) : MZ_EXIT_OK;
}
