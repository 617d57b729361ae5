// SPDX-License-Identifier: BSD-2-Clause
/* Print the overview of a recording of any kind: the verb `report`. */
#include "cmds/report/report.h"

#include "cmds/kernel/kmem.h"
#include "cmds/kmap/kmap_report.h"
#include "cmds/recording.h"

#define DEFAULT_ROWS 10

struct report_opts {
	uint64_t given;
	struct mz_opt_limit limit;
	bool json;
	struct report_user_opts user;
	struct kmem_report_opts kernel;
	const char *symbols;
	bool skip_bad;
};

/* The bit of a kind in an option's scope. */
#define OF(kind) (1u << (kind))

static const char *const scopes[] = {"with anything",		"with the trace of a program",
				     "with kernel traces",	"with KMAPs",
				     "with sums of call sites", NULL};

static const char *const ways[] = {"site", "function", "file", "module", "thread", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT_ROWS(0, struct report_opts, limit, "rows of a list (10; of a KMAP 8); 0 = all"),
	MZ_OPT_JSON(struct report_opts, json),
	MZ_OPT_BY(OF(MZ_RECORDING_USER), struct report_opts, user.by, MZ_OPT_CHOICE, ways, NULL,
		  "sum up by site (default), function, file, module or thread"),
	MZ_SWITCH_FOR(OF(MZ_RECORDING_USER), 0, "stacks", struct report_opts, user.stacks,
		      "print the heaviest call stack of each row"),
	MZ_OPT_FOR(OF(MZ_RECORDING_USER), 0, "wrapper", "NAME", MZ_OPT_LIST, struct report_opts,
		   user.wrappers,
		   "skip this function, which allocates for its caller; NAME* skips all whose name "
		   "begins with NAME; may be repeated"),
	MZ_OPT_FOR(OF(MZ_RECORDING_USER), 0, "wrapper-file", "FILE", MZ_OPT_LIST,
		   struct report_opts, user.wrapper_files,
		   "skip the functions in FILE, one name per line; may be repeated"),
	MZ_SWITCH_FOR(OF(MZ_RECORDING_USER), 0, "wrappers", struct report_opts, user.show_wrappers,
		      "skip no wrappers, not even the known ones"),
	MZ_OPT_FOR(OF(MZ_RECORDING_USER), 0, "suppressions", "FILE", MZ_OPT_LIST,
		   struct report_opts, user.suppressions,
		   "use the rules leak:PATTERN of FILE for blocks that are never freed on purpose; "
		   "may be "
		   "repeated"),
	MZ_SWITCH_FOR(OF(MZ_RECORDING_USER), 0, "no-suppressions", struct report_opts,
		      user.no_suppressions, "also show what runtimes never free"),
	KMEM_REPORT_OPTS(OF(MZ_RECORDING_KERNEL), struct report_opts, kernel),
	KMEM_REPORT_STRICT(OF(MZ_RECORDING_KERNEL) | OF(MZ_RECORDING_USER), struct report_opts,
			   kernel),
	RECORDING_MODULES_FOR(OF(MZ_RECORDING_KMAP) | OF(MZ_RECORDING_KERNEL) |
				      OF(MZ_RECORDING_USER),
			      struct report_opts, symbols, RECORDING_ROOT),
	MZ_SWITCH_FOR(OF(MZ_RECORDING_KMAP), 0, "skip-bad", struct report_opts, skip_bad,
		      "leave out and count lines that cannot be parsed"),
	{0},
};

extern const struct mz_cmd cmd_report;

/* Several files are those of a kernel trace, or programs. */
static int show(const struct report_opts *o, struct mz_recording *r, char **paths, int n)
{
	size_t rows = options_limit(&o->limit, DEFAULT_ROWS);
	int ret = options_check_scope(&cmd_report, o, r->kind);

	if (ret >= 0)
		return ret;
	switch (r->kind) {
	case MZ_RECORDING_KERNEL: return kmem_report_run(r, &o->kernel, rows, o->json);
	case MZ_RECORDING_KMAP:
		return kmap_report_run(r, options_limit(&o->limit, KMAP_REPORT_ROWS), o->json);
	case MZ_RECORDING_SUMS: return report_profile(r, rows, o->json);
	default: return n > 1 ? report_users(r, paths, n, &o->user) : report_user(r, &o->user);
	}
}

static int run(void *options, int argc, char **argv)
{
	struct report_opts *o = options;
	static char standard_input[] = "-";
	char *usual[] = {standard_input};
	struct mz_recording_options how = {
		.symbols = o->symbols, .skip_bad = o->skip_bad, .programs = true};
	struct mz_recording r;
	struct mz_error err = {0};
	struct progress progress;
	int ret;

	o->user.rows = options_limit(&o->limit, DEFAULT_ROWS);
	o->user.json = o->json;
	o->user.symbols = o->symbols;
	o->user.strict = o->kernel.strict;
	o->kernel.symbols = o->symbols;
	ret = recording_one_stdin(argc, argv);
	if (ret)
		return ret;
	ret = recording_open(&r, argc ? argv : usual, argc ? argc : 1, &how, &progress, &err);
	ret = ret < 0 ? console_error(&err) : show(o, &r, argv, argc);
	mz_recording_close(&r);
	return ret;
}

MZ_CMD(report, "report", struct report_opts, "[RECORDING|-|DIR|FILES...]",
       "summarize a recording: peak, leaks, temporary blocks, waste", .scopes = scopes,
       .reads = true, .prints = true);
