// SPDX-License-Identifier: BSD-2-Clause
/* Add up many recordings into one profile. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/profile_merge.h"
#include "base/error.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "export/export.h"

struct merge_opts {
	const char *output;
	const char *to;
	const char *symbols;
	bool force;
};

static const char *const formats[] = {"dhat",	 "pprof", "collapsed",	 "massif", "speedscope",
				      "firefox", "otlp",  "openmetrics", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT_OUTPUT(struct merge_opts, output),
	MZ_OPT_WORD_OF(
		0, "to", "FORMAT", struct merge_opts, to, formats,
		"dhat (default), which report, diff, export, push, store and merge read; or pprof, "
		"collapsed, speedscope, ..."),
	RECORDING_SYMBOLS(struct merge_opts, symbols),
	MZ_OPT_FORCE(struct merge_opts, force),
	{0},
};

static const struct mz_export_format *find_format(const char *name)
{
	for (const struct mz_export_format *f = mz_export_formats; f->name; f++)
		if (!strcmp(f->name, name) && f->profile)
			return f;
	return NULL;
}

static int add(struct mz_profile_merge *m, char *path, const struct merge_opts *o,
	       struct mz_error *err)
{
	struct mz_recording_options how = {.symbols = o->symbols};
	struct progress progress;
	const struct mz_profile *p = NULL;
	char lost[64];
	struct mz_recording r;
	struct mz_error why = {0};
	int ret = recording_open(&r, &path, 1, &how, &progress, err);

	if (!ret && !(p = mz_recording_profile(&r, err)))
		ret = mz_error_code(err);
	progress_end(&progress);
	if (!ret && p->lost)
		console_note("%s: %s during recording; the sums are too small", path,
			     console_lost(lost, p->lost));
	if (!ret) {
		sampled_note(path, p->lost_by);
		recording_note_end(&r);
	}
	if (!ret && (ret = mz_profile_merge_add(m, p, &why)))
		mz_fail(err, -ret, "%s: %s", path, why.text);
	mz_recording_close(&r);
	return ret;
}

static int put(const struct mz_profile_merge *m, const struct mz_export_format *f,
	       const struct merge_opts *o, struct mz_error *err)
{
	struct mz_export_options how = {0};
	struct mz_output out = {.file.fd = -1};
	struct mz_profile p;
	int ret = mz_profile_init(&p) ? mz_fail_memory(err) : mz_profile_merge_end(m, &p, err);

	if (!ret)
		ret = mz_output_open(&out, o->output, o->force, err);
	if (!ret)
		ret = f->profile(&p, &how, &out, err);
	ret = mz_output_end(&out, ret, err);
	mz_profile_deinit(&p);
	return ret;
}

static int run(void *options, int argc, char **argv)
{
	const struct merge_opts *o = options;
	const struct mz_export_format *f = find_format(o->to ? o->to : "dhat");
	struct mz_profile_merge m;
	struct mz_error err = {0};
	int ret;

	if (!f)
		return console_usage(
			"--to: unknown profile format '%s'; use dhat, pprof, collapsed, massif, "
			"speedscope, firefox, otlp or openmetrics",
			o->to);
	if (argc < 1)
		return console_usage("name the recordings to add up");
	ret = recording_one_stdin(argc, argv);
	if (ret)
		return ret;
	if (f->binary && !o->output && isatty(STDOUT_FILENO))
		return console_usage("%s is binary and is not written to a terminal; use -o FILE",
				     f->name);
	ret = mz_profile_merge_init(&m) ? mz_fail_memory(&err) : 0;
	for (int i = 0; i < argc && !ret; i++)
		ret = add(&m, argv[i], o, &err);
	if (!ret)
		ret = put(&m, f, o, &err);
	mz_profile_merge_deinit(&m);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}

MZ_CMD(merge, "merge", struct merge_opts, "RECORDING...", "add up many recordings into one profile",
       .reads = true);
