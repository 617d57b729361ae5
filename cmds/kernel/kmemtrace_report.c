// SPDX-License-Identifier: BSD-2-Clause
/* Report on a kernel trace: allocations, waste, frees on other CPUs, inconsistencies. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/kmem.h"
#include "cmds/kernel/kmem.h"

struct opts {
	unsigned sort;
	const char *limit;
	const char *caller;
	const char *cache;
	const char *time;
	bool live;
	bool strict;
	bool json;
};

static const char *const sorts[] = {"waste", "bytes",	 "count", "frag", "live",
				    "peak",  "lifetime", "cross", NULL};

static const struct mz_opt opts[] = {
	{.name = "sort",
	 .arg = "KEY",
	 .help = "order of call sites and caches: waste, bytes, count, frag, live, peak, lifetime, "
		 "cross",
	 .type = MZ_OPT_CHOICE,
	 .offset = offsetof(struct opts, sort),
	 .choices = sorts},
	MZ_OPT(0, "limit", "N", MZ_OPT_STR, struct opts, limit, "rows of a table (10); 0 = all"),
	MZ_OPT(0, "caller", "NAME", MZ_OPT_STR, struct opts, caller,
	       "only blocks allocated by functions with NAME in their name"),
	MZ_OPT(0, "cache", "NAME", MZ_OPT_STR, struct opts, cache, "only blocks of this cache"),
	MZ_OPT(0, "time", "A,B", MZ_OPT_STR, struct opts, time,
	       "only events from A to B seconds after the first; B may be left out"),
	MZ_OPT(0, "live", NULL, MZ_OPT_FLAG, struct opts, live,
	       "only what is live at the end: by allocator, subsystem and call site"),
	MZ_OPT(0, "strict", NULL, MZ_OPT_FLAG, struct opts, strict,
	       "exit with 3 if events were lost or a file is cut"),
	MZ_OPT(0, "json", NULL, MZ_OPT_FLAG, struct opts, json, "print JSON"),
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

static int run(void *options, int argc, char **argv)
{
	static char data[] = "kmemtrace.data", here[] = ".";
	const struct opts *o = options;
	char *usual[] = {access(data, F_OK) ? here : data};
	struct mz_kmem_filter filter = {.caller = o->caller, .cache = o->cache};
	struct mz_kmem_report r;
	struct mz_kmem_input *in;
	struct mz_error err = {0};
	size_t limit = 10;
	char *end;
	int ret = MZ_EXIT_OK;

	if (o->limit) {
		limit = strtoul(o->limit, &end, 10);
		if (*end || !*o->limit)
			return console_usage("--limit: '%s' is no number", o->limit);
	}
	if (o->time && parse_time(o->time, &filter) < 0)
		return console_usage("--time: '%s' is not of the form A,B (seconds, A before B)",
				     o->time);
	filter.ones = limit;
	in = mz_kmem_input_open(argc ? argv : usual, argc ? argc : 1, &err);
	if (!in)
		return console_error(&err);
	if (mz_kmem_report_make(&r, in, &filter, &err) < 0)
		ret = console_error(&err);
	else if (o->json)
		ret = kmem_report_json(&r, o->sort, limit);
	else if (o->live)
		kmem_live_text(&r, limit);
	else
		ret = kmem_report_text(&r, o->sort, limit);
	if (!ret && o->strict && (r.lost_all || mz_kmem_input_cut(in)))
		ret = MZ_EXIT_INCOMPLETE;
	mz_kmem_report_free(&r);
	mz_kmem_input_close(in);
	return ret;
}

static const char *const aliases[] = {"kmemtrace-report", NULL};

const struct mz_cmd cmd_kmemtrace_report = {
	.name = "kmemtrace-report",
	.aliases = aliases,
	.args = "[DIR|FILES...]",
	.summary = "report on kernel allocations: call sites, waste, inconsistencies",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
