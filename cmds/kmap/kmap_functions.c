// SPDX-License-Identifier: BSD-2-Clause
/* Print what the instructions of each function of a kernel can do, as CSV. */
#include <inttypes.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "cmds/kmap/kmap_opts.h"
#include "symbols/image.h"

static void put(struct mz_buf *b, const struct mz_code_function *f, const char *file)
{
	mz_csv_add(b, f->name, strlen(f->name));
	mz_buf_str(b, ",");
	mz_csv_add(b, file, strlen(file));
	mz_buf_printf(b, ",%016" PRIx64 ",%" PRIu64, f->start, f->size);
	for (int op = 0; op < MZ_OPS; op++) {
		mz_buf_str(b, ",");
		if (!(f->missing >> op & 1))
			mz_buf_printf(b, "%" PRIu64, f->ops[op]);
	}
	mz_buf_str(b, "\n");
}

static int put_all(const struct mz_code *c, const struct mz_image *im, struct mz_error *err)
{
	struct mz_buf b = {0};

	mz_buf_str(&b, "name,file,start,size,read,write,call,return,free\n");
	for (size_t i = 0; i < c->n; i++) {
		struct mz_image_place at = {0};
		bool found = mz_image_find(im, c->functions[i].start, &at);

		put(&b, &c->functions[i], found && at.home ? at.home : "");
	}
	if (!b.failed)
		fwrite(b.data, 1, b.len, stdout);
	else
		mz_fail_memory(err);
	mz_buf_free(&b);
	return err->code ? -err->code : 0;
}

int kmap_functions(const struct kmap_opts *o, int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_code c = {0};
	struct mz_image *im;
	int ret;

	(void)o;
	if (argc != 1)
		return console_usage("functions takes one VMLINUX");
	im = mz_image_open(argv[0], true, &err);
	ret = im ? mz_code_read(&c, argv[0], &err) : -1;
	if (ret >= 0 && c.n && c.functions[0].missing)
		console_note(
			"%s: no sanitizer's calls in its code: reads and writes cannot be counted",
			argv[0]);
	if (ret >= 0 && !im->has_lines)
		console_note("%s: no debugging information: source files are not known", argv[0]);
	if (ret >= 0)
		ret = put_all(&c, im, &err);
	mz_code_deinit(&c);
	mz_image_free(im);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}
