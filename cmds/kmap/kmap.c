// SPDX-License-Identifier: BSD-2-Clause
/* Ask a KMAP which code touches which objects. */
#include <stdlib.h>
#include <string.h>

#include "cmds/kmap/kmap_opts.h"
#include "cmds/kmap/kmap_report.h"
#include "cmds/recording.h"
#include "cmds/table_print.h"

#define TEXT_ROWS   20
#define TEXT_FIELDS 200 /* a structure is looked at as a whole */

static const char *const levels[] = {"dir", "file", "function", "cache", "pid", NULL};

static const char *const bys[] = {"dir", "file", "function", "cache", "pid", "topdir", NULL};
static const char *const formats[] = {"cpm", "graphml", "csv", "jsonl", "parquet", "sqlite", NULL};
static const char *const tables[] = {"functions", "objects", "accesses", "calls", NULL};
static const char *const words[] = {"matrix", "object",	   "fields", "site",	  "calls", "shared",
				    "unused", "functions", "merge",  "privilege", "cut",   "export",
				    "owners", "select",	   "report", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT_BY(
		0, struct kmap_opts, by_name, MZ_OPT_STR, bys, NULL,
		"for matrix: dir, file, function, cache or pid (default: dir if folders are known, "
		"else function); for calls: the first three; for privilege: topdir, dir, file or "
		"function (default: all)"),
	RECORDING_MODULES_FOR(0, struct kmap_opts, symbols, ""),
	MZ_OPT(0, "functions", "FILE", MZ_OPT_STR, struct kmap_opts, functions,
	       "privilege, cut: the table that 'kmap functions' writes, or a vmlinux to count in "
	       "(default: the vmlinux of --symbols)"),
	MZ_OPT(0, "cut", "FILE", MZ_OPT_STR, struct kmap_opts, cut,
	       "privilege, export: this cut, a file of lines 'function,domain'"),
	MZ_OPT_ROWS(0, struct kmap_opts, limit,
		    "rows of a list: 20 in text (fields: 200), all in JSON and CSV; 0 = all"),
	MZ_SWITCH(0, "skip-bad", struct kmap_opts, skip_bad,
		  "leave out and count lines that cannot be parsed"),
	MZ_OPT(0, "domains", "N", MZ_OPT_U64, struct kmap_opts, domains,
	       "cut: the largest number of domains (default: merge as long as it pays)"),
	MZ_OPT(0, "budget", "CYCLES", MZ_OPT_U64, struct kmap_opts, budget,
	       "cut: the largest cost of all crossings (default: that of the baseline; without "
	       "one, merge as long as it pays)"),
	MZ_OPT(0, "mechanism", "NAME", MZ_OPT_STR, struct kmap_opts, mechanism,
	       "cut: what a crossing costs: page-tables (default), mpk, tagged, capability, "
	       "kernel-switch, sfi, or a name of --weights"),
	MZ_OPT(0, "weights", "FILE", MZ_OPT_STR, struct kmap_opts, weights,
	       "cut: costs of crossings: CSV with the header mechanism,access,call"),
	MZ_OPT(0, "baseline", "CUT", MZ_OPT_STR, struct kmap_opts, baseline,
	       "cut: the baseline to compare with: topdir, dir, file, function, or a file"),
	MZ_OPT(0, "check", "CUT", MZ_OPT_STR, struct kmap_opts, check,
	       "cut: compute no cut; show which accesses of the map this one would deny"),
	MZ_OPT(0, "cgroup", "PATTERN", MZ_OPT_STR, struct kmap_opts, cgroup,
	       "select: the cgroup: a path and all below it, a part of the path, or a shell "
	       "pattern"),
	MZ_OPT(0, "pidns", "N", MZ_OPT_U64, struct kmap_opts, pidns,
	       "select: the pid namespace, by the number in /proc/PID/ns/pid"),
	MZ_OPT_WORD_OF(0, "to", "FORMAT", struct kmap_opts, to, formats,
		       "export: cpm, graphml, csv, jsonl, parquet or sqlite"),
	MZ_OPT_WORD_OF(0, "table", "TABLE", struct kmap_opts, table, tables,
		       "export to csv, jsonl and parquet: functions, objects, accesses (default) "
		       "or calls"),
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct kmap_opts, output,
	       "merge, cut, export, select: write to OUT (merge, select: default standard output; "
	       "merge to OUT.cmt: a container)"),
	MZ_OPT_FORCE(struct kmap_opts, force),
	MZ_OPT_JSON(struct kmap_opts, json),
	MZ_SWITCH(0, "csv", struct kmap_opts, csv, "print CSV, with plain numbers"),
	{0},
};

struct ask {
	const struct kmap_opts *o;
	const char *pattern;
	const char *path;
	struct mz_analysis *a;
	struct progress progress;
};

/* What is being asked: one or more questions to the library. */
struct question {
	const char *name;
	const char *argument; /* NULL: none */
	bool choose;	      /* --by says at which level it is answered */
	size_t answers;	      /* 0: it is the report */
	enum mz_question first;
};

/* The number of functions that the text names for each member. */
#define TEXT_NAMES 2

static const struct question questions[] = {
	{"matrix", NULL, true, 1, MZ_ASK_MATRIX},
	{"object", "PATTERN", false, MZ_ASK_FIELDS - MZ_ASK_CLASSES + 1, MZ_ASK_CLASSES},
	{"fields", "PATTERN", false, 1, MZ_ASK_FIELDS},
	{"site", "FUNCTION", false, 1, MZ_ASK_TOUCHED},
	{"calls", NULL, true, 1, MZ_ASK_CALLS},
	{"shared", NULL, false, 1, MZ_ASK_SHARED},
	{"unused", NULL, false, 1, MZ_ASK_UNUSED},
	{"report", NULL, false, 0, MZ_QUESTIONS},
};

static const struct question *find(const char *name)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (!strcmp(questions[i].name, name))
			return &questions[i];
	return NULL;
}

/* ---- showing -------------------------------------------------------------------------- */

/* What a reader must know before relying on a figure. */
static void show_warnings(const struct ask *k, const struct question *q)
{
	bool members = mz_analysis_number(k->a, "members");

	if (q->first == MZ_ASK_CALLS && !mz_analysis_number(k->a, "calls"))
		console_note(
			"the map has no calls: put the lines of function_calls in front of the "
			"map, or into a file beside it, with .calls after its name");
	else if (q->first != MZ_ASK_CALLS && !mz_analysis_number(k->a, "accesses") &&
		 q->first != MZ_ASK_CLASSES)
		console_note("the map has no accesses: it was recorded without counting them");
	else if (q->first == MZ_ASK_FIELDS && members)
		return;
	else if (q->first == MZ_ASK_FIELDS && !mz_analysis_number(k->a, "ranges"))
		console_note("the map does not record which bytes were accessed: record it with "
			     "'memorizer vm --fields'");
	else if (q->first == MZ_ASK_FIELDS && !mz_analysis_number(k->a, "structures"))
		console_note(
			"no structures are known: name a vmlinux with DWARF or BTF with --symbols");
	else if (!mz_analysis_number(k->a, "folders") &&
		 (q->first == MZ_ASK_SHARED ||
		  (q->choose && mz_analysis_number(k->a, "by") <= MZ_KMAP_BY_FILE)))
		console_note("no folders are known: name System.map.files, or a vmlinux with "
			     "DWARF, with --symbols");
}

static void show(const struct ask *k, const struct question *q, const struct mz_result_table *t,
		 size_t i, struct mz_json *j)
{
	size_t usual = q->first == MZ_ASK_FIELDS ? TEXT_FIELDS : TEXT_ROWS;
	size_t rows = options_limit(&k->o->limit, k->o->json || k->o->csv ? 0 : usual);

	if (k->o->json) {
		answer_json(j, t, rows);
	} else if (k->o->csv) {
		/* the other tables have other columns: they are left to --json */
		if (q->answers == 1 || (i && i < 5))
			answer_csv(t, rows, q->answers > 1 ? "role" : NULL, i < 2);
	} else if (i < 5 || mz_analysis_number(k->a, "structures") ||
		   mz_analysis_number(k->a, "members")) {
		if (i)
			putchar('\n');
		answer_text(t, rows);
	}
}

/* The map is read for the first of them. */
static int answer(struct ask *k, const struct question *q)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	struct mz_error err = {0};
	struct mz_result_table *t;

	if (k->o->json)
		mz_json_object(&j, NULL);
	for (size_t i = 0; i < q->answers && !err.code; i++) {
		t = mz_analysis_ask(k->a, (enum mz_question)(q->first + i), k->pattern, &err);
		progress_end(&k->progress);
		if (t && !i) {
			recording_note(k->a, k->path);
			show_warnings(k, q);
		}
		if (t)
			show(k, q, t, i, &j);
		mz_result_free(t);
	}
	if (k->o->json)
		mz_json_end_object(&j);
	if (!err.code && k->o->json && console_put(&b, stdout) < 0)
		return console_fail("out of memory");
	mz_buf_free(&b);
	return err.code ? console_error(&err) : MZ_EXIT_OK;
}

/* ---- the verb --------------------------------------------------------------------------- */

static int level(const struct kmap_opts *o, const struct question *q, uint32_t *by)
{
	if (!o->by_name)
		return -1;
	if (!q->choose)
		return console_usage("--by applies to matrix, calls and privilege only");
	for (unsigned i = 0; levels[i]; i++) {
		if (strcmp(levels[i], o->by_name))
			continue;
		*by = i;
		if (q->first == MZ_ASK_CALLS && i > MZ_KMAP_BY_FUNCTION)
			return console_usage("calls --by takes dir, file or function");
		return -1;
	}
	return console_usage("--by takes dir, file, function, cache or pid; not '%s'", o->by_name);
}

static int report(const struct kmap_opts *o, const char *path)
{
	struct mz_recording_options ro = {
		.want = MZ_RECORDING_KMAP, .symbols = o->symbols, .skip_bad = o->skip_bad};
	char *paths[] = {(char *)path};
	struct mz_recording r;
	struct mz_error err = {0};
	struct progress progress;
	int ret = recording_open(&r, paths, 1, &ro, &progress, &err);

	ret = ret < 0 ? console_error(&err)
		      : kmap_report_run(&r, options_limit(&o->limit, KMAP_REPORT_ROWS), o->json);
	mz_recording_close(&r);
	return ret;
}

/* args: what follows the question. */
static int ask(const struct kmap_opts *o, const struct question *q, int argc, char **argv)
{
	struct ask k = {.o = o, .path = "-"};
	struct mz_analysis_options how = {.symbols = o->symbols,
					  .skip_bad = o->skip_bad,
					  .kind = MZ_RECORDING_KMAP,
					  .by_exactly = !q->choose || o->by_name,
					  .names = o->json || o->csv ? 0 : TEXT_NAMES};
	struct mz_error err = {0};
	int ret = level(o, q, &how.by), at = 0;

	if (ret >= 0)
		return ret;
	if (o->json && o->csv)
		return console_usage("--json or --csv, not both");
	if (o->csv && !q->answers)
		return console_usage("a report has several tables; use --csv with a question");
	if (q->argument && !argc)
		return console_usage("%s takes a %s", q->name, q->argument);
	if (q->argument)
		k.pattern = argv[at++];
	if (at < argc)
		k.path = argv[at++];
	if (at < argc)
		return console_usage("one map only; '%s' is one too many", argv[at]);
	if (!q->answers)
		return report(o, k.path);
	k.a = recording_analysis(k.path, &how, &k.progress, &err);
	ret = k.a ? answer(&k, q) : console_error(&err);
	mz_analysis_close(k.a);
	return ret;
}

/* Tasks that are more than a question about one map. */
static const struct {
	const char *name;
	int (*run)(const struct kmap_opts *o, int argc, char **argv);
} tasks[] = {
	{"cut", kmap_cut},	 {"export", kmap_export}, {"functions", kmap_functions},
	{"merge", kmap_merge},	 {"owners", kmap_owners}, {"privilege", kmap_privilege},
	{"select", kmap_select},
};

static int run(void *options, int argc, char **argv)
{
	const struct question *q = argc ? find(argv[0]) : NULL;

	if (q)
		return ask(options, q, argc - 1, argv + 1);
	for (size_t i = 0; argc && i < sizeof(tasks) / sizeof(*tasks); i++)
		if (!strcmp(tasks[i].name, argv[0]))
			return tasks[i].run(options, argc - 1, argv + 1);
	return console_usage("%s%s%s matrix, object, fields, site, calls, shared, unused, "
			     "functions, merge, privilege, cut, export, owners, select or report",
			     argc ? "unknown question '" : "name a question:", argc ? argv[0] : "",
			     argc ? "'; use" : "");
}

MZ_CMD(kmap, "kmap", struct kmap_opts, "QUESTION [KMAP|-]",
       "query a KMAP: which code touches which kernel objects", .reads = true, .prints = true,
       .words = words);
