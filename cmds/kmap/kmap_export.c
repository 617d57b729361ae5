// SPDX-License-Identifier: BSD-2-Clause
/* Write maps, their functions and a cut for other programs. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/kmap/kmap_opts.h"
#include "export/privilege.h"
#include "symbols/files.h"
#include "symbols/image.h"
#include "symbols/types.h"

static const struct {
	const char *name;
	const struct mz_table_ops *tables; /* NULL: a format of its own */
} formats[] = {
	{"cpm", NULL},
	{"graphml", NULL},
	{"csv", &mz_csv_ops},
	{"jsonl", &mz_jsonl_ops},
	{"parquet", &mz_parquet_ops},
	{"sqlite", &mz_sqlite_ops},
};

static int find_format(const char *name)
{
	for (size_t i = 0; name && i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return (int)i;
	return -1;
}

static int find_table(const char *name)
{
	for (int i = 0; i < MZ_PRIVILEGE_TABLES; i++)
		if (!strcmp(name, mz_privilege_table_names[i]))
			return i;
	return -1;
}

/* The cut of --cut, or by --by; by folder if neither is given. */
static int find_cut(const struct kmap_opts *o, const struct mz_privilege *p, struct mz_cut *c,
		    struct mz_error *err)
{
	const char *by = o->by_name ? o->by_name : "dir";

	if (o->cut)
		return mz_cut_read(c, p, o->cut, err);
	for (int i = 0; i < MZ_CUT_LEVELS; i++)
		if (!strcmp(by, mz_cut_level_name((enum mz_cut_level)i)))
			return mz_cut_by(c, p->f, (enum mz_cut_level)i) < 0 ? mz_fail_memory(err)
									    : 0;
	return mz_fail(err, 22, "--by takes topdir, dir, file or function; not '%s'", by);
}

/* Lines and members come from a vmlinux: that of --functions, or of --symbols. Without one,
 * sites have addresses instead of lines. */
static int put_cpm(const struct kmap_opts *o, const struct kmap_load *l, const struct mz_cut *c,
		   struct mz_output *out, struct mz_error *err)
{
	struct mz_symbols_files files = {0};
	struct mz_error ignored = {0};
	const char *path = l->vmlinux;
	struct mz_image *im;
	struct mz_types *types;
	int ret;

	if (!path && o->symbols && mz_symbols_files_named(&files, o->symbols, &ignored) >= 0)
		path = files.kernel.vmlinux;
	im = path ? mz_image_open(path, true, &ignored) : NULL;
	types = path ? mz_types_open(path, &ignored) : NULL;
	ret = mz_export_cpm(&l->p, c, im, types, out, err);
	mz_types_close(types);
	mz_image_free(im);
	mz_symbols_files_deinit(&files);
	return ret;
}

static int put(const struct kmap_opts *o, const struct kmap_load *l, const struct mz_cut *c,
	       int format, int table, struct mz_error *err)
{
	struct mz_output out;
	int ret = mz_output_open(&out, o->output, o->force, err);

	if (ret < 0)
		return ret;
	if (formats[format].tables) {
		ret = mz_export_privilege_tables(formats[format].tables, &l->p, c, table, &out,
						 err);
	} else if (format == 1) {
		ret = mz_export_graphml(&l->p, c, &out, err);
	} else {
		ret = put_cpm(o, l, c, &out, err);
	}
	if (ret >= 0)
		return mz_output_commit(&out, err);
	mz_output_abort(&out);
	return ret;
}

int kmap_export(const struct kmap_opts *o, int argc, char **argv)
{
	int format = find_format(o->to), table = o->table ? find_table(o->table) : 2, ret;
	struct mz_cut c = {0};
	struct mz_error err = {0};
	struct kmap_load l;

	if (format < 0)
		return console_usage("--to takes cpm, graphml, csv, jsonl, parquet or sqlite");
	if (table < 0)
		return console_usage("--table takes functions, objects, accesses or calls");
	if (!o->output && formats[format].tables == &mz_sqlite_ops)
		return console_usage("sqlite needs a file: -o FILE");
	if (!o->output && formats[format].tables == &mz_parquet_ops && isatty(STDOUT_FILENO))
		return console_usage("parquet is not for a terminal: -o FILE");
	ret = kmap_load(&l, o, argc, argv, &err);
	if (ret >= 0)
		ret = find_cut(o, &l.p, &c, &err);
	if (ret >= 0)
		ret = put(o, &l, &c, format, table, &err);
	mz_cut_deinit(&c);
	kmap_load_free(&l);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}
