// SPDX-License-Identifier: BSD-2-Clause
/* Print what the instructions of each function of a kernel and its modules can do, as CSV. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "cmds/kmap/kmap_opts.h"
#include "symbols/code_module.h"
#include "symbols/files.h"

static void put(struct mz_buf *b, const struct mz_code_function *f, const char *file)
{
	mz_csv_add(b, f->name, strlen(f->name));
	mz_buf_str(b, ",");
	mz_csv_add(b, file, strlen(file));
	mz_buf_printf(b, ",%016" PRIx64 ",%" PRIu64, f->start, f->size);
	for (int op = 0; op < MZ_CODE_OPS; op++) {
		mz_buf_str(b, ",");
		if (!(f->missing >> op & 1))
			mz_buf_printf(b, "%" PRIu64, f->ops[op]);
	}
	mz_buf_str(b, "\n");
}

static void note(const char *path, const struct mz_code *c, const struct mz_image *im)
{
	if (c->n && c->functions[0].missing)
		console_note("%s: its code does not call a sanitizer: reads and writes cannot be "
			     "counted",
			     path);
	if (!im->has_lines)
		console_note("%s: no debugging information: source files are not known", path);
}

static int put_kernel(struct mz_buf *b, const char *path, struct mz_error *err)
{
	struct mz_image *im = mz_image_open(path, true, err);
	struct mz_code c = {0};
	int ret = im ? mz_code_read(&c, path, err) : -1;

	if (ret >= 0 && c.relocatable)
		ret = mz_fail(err, EINVAL,
			      "%s: it is not linked; name the vmlinux first, and modules after it",
			      path);
	if (ret >= 0)
		note(path, &c, im);
	for (size_t i = 0; ret >= 0 && i < c.n; i++) {
		struct mz_image_place at = {0};
		bool found = mz_image_find(im, c.functions[i].start, &at);

		put(b, &c.functions[i], found && at.home ? at.home : "");
	}
	mz_code_deinit(&c);
	mz_image_free(im);
	return ret;
}

static void note_unplaced(const char *path, const struct mz_code_module *m, bool listed)
{
	if (m->unplaced && m->loaded)
		console_note("%s: %zu of %zu functions are not in the list of symbols: their "
			     "addresses are relative to the module",
			     path, m->unplaced, m->code.n);
	else if (m->unplaced)
		console_note("%s: %s: the addresses of its functions are relative to the module",
			     path,
			     listed ? "the list of symbols does not contain it"
				    : "no list of symbols (kallsyms)");
}

static void put_functions(struct mz_buf *b, const char *path, const struct mz_code_module *m,
			  bool listed)
{
	note(path, &m->code, m->image);
	note_unplaced(path, m, listed);
	for (size_t i = 0; i < m->code.n; i++)
		put(b, &m->code.functions[i], m->files[i]);
}

static int put_module(struct mz_buf *b, const char *path, const struct mz_kallsyms *k,
		      struct mz_error *err)
{
	struct mz_code_module m;
	int ret = mz_code_module_read(&m, path, k, err);

	if (ret >= 0)
		put_functions(b, path, &m, k != NULL);
	mz_code_module_deinit(&m);
	return ret;
}

static int put_loaded(void *arg, const char *path, const struct mz_code_module *m)
{
	put_functions(arg, path, m, true);
	return 0;
}

/* Without names of modules: those that the kernel had loaded. */
static int put_all_loaded(struct mz_buf *b, const char *dir, const struct mz_kallsyms *k,
			  struct mz_error *err)
{
	struct mz_code_modules c;

	if (mz_code_modules_read(dir, k, put_loaded, b, &c) < 0)
		return mz_fail_memory(err);
	if (c.no_file + c.unreadable + c.unplaced)
		console_note("%zu of %zu modules that were loaded are left out: %zu have no file "
			     "in a folder of --symbols, %zu are of another build or cannot be "
			     "read, %zu have no known address",
			     c.no_file + c.unreadable + c.unplaced, c.loaded, c.no_file,
			     c.unreadable, c.unplaced);
	return 0;
}

/* The list of the kernel that loaded the modules: of --symbols, or beside the vmlinux. */
static int put_modules(struct mz_buf *b, const struct kmap_opts *o, int n, char **argv,
		       struct mz_error *err)
{
	struct mz_symbols_files files = {0};
	struct mz_kallsyms *k = NULL;
	int ret = o->symbols ? mz_symbols_files_named(&files, o->symbols, err)
			     : mz_symbols_files_beside(&files, argv[0], err);

	if (ret >= 0 && files.kernel.kallsyms) {
		k = mz_kallsyms_load(files.kernel.kallsyms, err);
		ret = k ? 0 : -EINVAL;
	}
	for (int i = 1; ret >= 0 && i < n; i++)
		ret = put_module(b, argv[i], k, err);
	if (ret >= 0 && n == 1 && k)
		ret = put_all_loaded(b, files.kernel.modules, k, err);
	mz_kallsyms_free(k);
	mz_symbols_files_deinit(&files);
	return ret;
}

int kmap_functions(const struct kmap_opts *o, int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_buf b = {0};
	int ret;

	if (argc < 1)
		return console_usage("functions takes a VMLINUX, followed by modules");
	mz_buf_str(&b, "name,file,start,size,read,write,call,return,free\n");
	ret = put_kernel(&b, argv[0], &err);
	if (ret >= 0 && (argc > 1 || o->symbols))
		ret = put_modules(&b, o, argc, argv, &err);
	if (ret >= 0)
		return console_put(&b, stdout) < 0 ? console_fail("out of memory") : MZ_EXIT_OK;
	mz_buf_free(&b);
	return console_error(&err);
}
