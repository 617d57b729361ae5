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

const char *const kmem_sorts[] = {"waste", "bytes",    "count", "frag", "live",
				  "peak",  "lifetime", "cross", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT_ROWS(0, struct kmemtrace_report_opts, limit, "rows of a table (10); 0 = all"),
	KMEM_REPORT_OPTS(0, struct kmemtrace_report_opts, report),
	KMEM_REPORT_STRICT(0, struct kmemtrace_report_opts, report),
	RECORDING_KERNEL_SYMBOLS(struct kmemtrace_report_opts, report.symbols),
	MZ_OPT_JSON(struct kmemtrace_report_opts, json),
	{0},
};

static int parse_time(const char *text, struct mz_kmem_filter *f)
{
	char *end;

	f->from = strtod(text, &end);
	if (end == text && *text != ',')
		return -1;
	if (*end == ',' && end[1]) {
		text = end + 1;
		f->to = strtod(text, &end);
	} else if (*end == ',') {
		end++;
	}
	return *end || f->from < 0 || f->to < 0 || (f->to > 0 && f->to < f->from) ? -1 : 0;
}

/* As for every verb, by the files named, and what they lack by those beside the recording. */
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
	struct mz_kmem_filter filter = {.caller = o->caller, .cache = o->cache, .ones = rows};
	struct mz_kmem_report r;
	struct mz_kmem_input *in;
	struct mz_error err = {0};
	int ret = MZ_EXIT_OK;

	if (o->time && parse_time(o->time, &filter) < 0)
		return console_usage("--time: '%s' is not of the form A,B (seconds, A before B)",
				     o->time);
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
		ret = kmem_report_json(&r, o->sort, rows);
	else if (o->live)
		kmem_live_text(&r, rows);
	else
		ret = kmem_report_text(&r, o->sort, rows);
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
