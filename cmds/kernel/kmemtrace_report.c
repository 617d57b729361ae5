// SPDX-License-Identifier: BSD-2-Clause
/* Report on a kernel trace: allocations, waste, frees on other CPUs, inconsistencies. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/kmem.h"
#include "analysis/recording.h"
#include "cmds/kernel/kmem.h"
#include "cmds/recording.h"

#define DEFAULT_ROWS 10

struct kmemtrace_report_opts {
	struct mz_opt_limit limit;
	struct kmem_report_opts report;
	bool json;
};

/* In the order of enum kmem_sort, with the words of metric_words[] for what they have. */
const char *const kmem_metrics[] = {"waste", "total",		"blocks", "frag", "live",
				    "peak",  "median_lifetime", "cross",  NULL};
const struct mz_opt_old_word kmem_old_metrics[] = {
	{"bytes", "total"},	{"count", "blocks"},	{"lifetime", "median_lifetime"},
	{"live_bytes", "live"}, {"peak_bytes", "peak"}, {0}};

static const struct mz_opt opts[] = {
	MZ_OPT_ROWS(0, struct kmemtrace_report_opts, limit, "rows of a table (10); 0 = all"),
	KMEM_REPORT_OPTS(0, struct kmemtrace_report_opts, report),
	KMEM_REPORT_STRICT(0, struct kmemtrace_report_opts, report),
	RECORDING_KERNEL_SYMBOLS(struct kmemtrace_report_opts, report.symbols),
	MZ_OPT_JSON(struct kmemtrace_report_opts, json),
	{0},
};

/* As in every verb: the files named come first, then those beside the recording. */
static int use_named(struct mz_recording *rec, struct mz_kmem_input *in, struct mz_error *err)
{
	struct mz_symbols *named;
	int ret = mz_recording_symbols(rec, &named, err);

	if (!ret && named)
		mz_kmem_input_use(in, named);
	return ret;
}

int kmem_report_run(struct mz_recording *rec, const struct kmem_report_opts *o, size_t rows,
		    bool json)
{
	struct mz_kmem_filter filter = {
		.caller = o->caller, .cache = o->cache, .time = o->time, .ones = rows};
	struct mz_kmem_report r;
	struct mz_kmem_input *in;
	struct mz_error err = {0};
	int ret = MZ_EXIT_OK;

	if (o->caller && rec->format == MZ_FORMAT_PERF)
		return console_fail(
			"%s: in perf's output, names follow their events; for --caller, "
			"convert it first: 'memorizer convert %s -o x.cmt'",
			rec->name, rec->name);
	in = mz_recording_kmem(rec, &err);
	if (!in || (o->symbols && use_named(rec, in, &err) < 0))
		return console_error(&err);
	if (mz_kmem_report_make(&r, in, &filter, &err) < 0)
		ret = console_error(&err);
	else if (json)
		ret = kmem_report_json(&r, o->metric, rows);
	else if (o->live)
		kmem_live_text(&r, rows);
	else
		ret = kmem_report_text(&r, o->metric, rows);
	if (!ret && o->strict && (r.lost_all || mz_kmem_input_cut(in)))
		ret = MZ_EXIT_INCOMPLETE;
	mz_kmem_report_free(&r);
	return ret;
}

static int run(void *options, int argc, char **argv)
{
	static char data[] = "kmemtrace.data", here[] = ".";
	const struct kmemtrace_report_opts *o = options;
	struct mz_recording_options kernel = {.want = MZ_RECORDING_KERNEL,
					      .flags = options_open_flags(),
					      .symbols = o->report.symbols};
	char *usual[] = {access(data, F_OK) ? here : data};
	struct mz_recording r;
	struct mz_error err = {0};
	int ret = mz_recording_open(&r, argc ? argv : usual, argc ? argc : 1, &kernel, &err);

	ret = ret < 0 ? console_error(&err)
		      : kmem_report_run(&r, &o->report, options_limit(&o->limit, DEFAULT_ROWS),
					o->json);
	mz_recording_close(&r);
	return ret;
}

static const char *const aliases[] = {"kmemtrace-report", "kmemtrace_report", NULL};

MZ_CMD(kmemtrace_report, "kmemtrace-report", struct kmemtrace_report_opts, "[DIR|FILES...]",
       "report on kernel allocations: call sites, waste, inconsistencies", .aliases = aliases,
       .reads = true, .prints = true);
