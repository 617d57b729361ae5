// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every allocation of every export fails once, from the opening of the recording to
 * the last byte: the result is -ENOMEM with its message, or the very same file, where
 * it goes without. Nothing leaks, no file is left, not even the temporary one.
 */
#include <memorizer.h>
#include <stdio.h>

#include "analysis/recording.h"
#include "base/output.h"
#include "export/table.h"
#include "tests/unit/faults.h"

static char folder[] = "/tmp/memorizer-export-fault-XXXXXX";
static char in_path[64];
static const struct mz_export_format *format;
static enum mz_table_name table;
static char want[1 << 20], got[1 << 20];
static size_t nwant;

/* Enough stacks and blocks that tables grow. */
static void make_input(void)
{
	FILE *f;

	if (!mkdtemp(folder))
		abort();
	snprintf(in_path, sizeof(in_path), "%s/in", folder);
	snprintf(out_path, sizeof(out_path), "%s/out", folder);
	f = fopen(in_path, "w");
	if (!f)
		abort();
	for (int i = 1; i <= 80; i++)
		fprintf(f, "malloc(%d) = %x time=%d cache=c%d stack=%x,7\n", i, i * 4096, i * 1000,
			i % 70, i * 16);
	fprintf(f, "realloc(1000, 5) = 1000 time=500000\nfree(1000) time=600000\n");
	if (fclose(f))
		abort();
}

static size_t slurp(char *to)
{
	FILE *f = fopen(out_path, "r");
	size_t n = f ? fread(to, 1, sizeof(want), f) : 0;

	if (!f || fclose(f) || n == sizeof(want))
		abort();
	return n;
}

/* The file is made: is it the one that it should be? */
static int check_file(void)
{
	if (!has_failed) {
		nwant = slurp(want);
		return 0;
	}
	if (slurp(got) != nwant || memcmp(got, want, nwant))
		return -EBADMSG;
	unlink(out_path);
	return -ENOMEM; /* it went without */
}

static int write_all(struct mz_recording *in, struct mz_output *out, struct mz_error *err)
{
	struct mz_export_options how = {0};
	struct mz_events *events = format->profile ? NULL : mz_recording_events(in, err);

	if (!format->profile && !events)
		return -err->code;
	if (format->events)
		return format->events(events, out, err);
	if (format->table)
		return mz_export_tables(format->table, events, &in->profile, table, out, err);
	if (!mz_recording_profile(in, err))
		return -err->code;
	return format->profile(&in->profile, &how, out, err);
}

/* As the verb does it. */
static int do_export(void)
{
	char *paths[] = {in_path};
	struct mz_recording in = {0};
	struct mz_output out = {.file.fd = -1};
	struct mz_error err = {0};
	int ret = mz_recording_open(&in, paths, 1, NULL, &err);

	if (!ret)
		ret = mz_output_open(&out, out_path, false, &err);
	if (!ret)
		ret = write_all(&in, &out, &err);
	if (!ret)
		ret = mz_output_commit(&out, &err);
	else
		mz_output_abort(&out);
	mz_recording_close(&in);
	if (ret == -ENOMEM && !strstr(err.text, "out of memory"))
		ret = -EPROTO; /* it does not say so */
	return ret ? ret : check_file();
}

static void every_format(void)
{
	for (format = mz_export_formats; format->name; format++) {
		bool one = format->table && !format->table->many;

		for (int i = 0; i < (one ? MZ_TABLES : 1); i++) {
			table = (enum mz_table_name)i;
			try_all(format->name, do_export);
		}
	}
}

static void folder_is_clean(void)
{
	unlink(in_path);
	CHECK(!rmdir(folder));
}

int main(void)
{
	make_input();
	RUN(every_format);
	RUN(folder_is_clean);
	return test_end();
}
