// SPDX-License-Identifier: BSD-2-Clause
/* Ask a KMAP which code touches which objects. */
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_questions.h"
#include "cmds/kmap/kmap_opts.h"
#include "cmds/kmap/kmap_report.h"
#include "cmds/recording.h"
#include "cmds/table_print.h"

#define TEXT_ROWS   20
#define TEXT_FIELDS 200 /* a structure is looked at as a whole */

static const char *const levels[] = {"dir", "file", "function", "cache", "pid", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT(0, "by", "LEVEL", MZ_OPT_STR, struct kmap_opts, by_name,
	       "for matrix: dir, file, function, cache or pid (default: dir if folders are known, "
	       "else function); for calls: the first three; for privilege: topdir, dir, file or "
	       "function (default: all)"),
	MZ_OPT(0, "symbols", "FILES", MZ_OPT_STR, struct kmap_opts, symbols,
	       "kallsyms, System.map, vmlinux, or a folder with them and modules, separated by "
	       "commas (default: those beside the map)"),
	MZ_OPT(0, "functions", "FILE", MZ_OPT_STR, struct kmap_opts, functions,
	       "privilege, cut: the table that 'kmap functions' writes, or a vmlinux to count in "
	       "(default: the vmlinux of --symbols)"),
	MZ_OPT(0, "cut", "FILE", MZ_OPT_STR, struct kmap_opts, cut,
	       "privilege, export: this cut, a file of lines 'function,domain'"),
	MZ_OPT_ROWS(0, struct kmap_opts, limit,
		    "rows of a list: 20 in text (fields: 200), all in JSON and CSV; 0 = all"),
	MZ_OPT(0, "skip-bad", NULL, MZ_OPT_FLAG, struct kmap_opts, skip_bad,
	       "leave out and count lines that cannot be parsed"),
	MZ_OPT(0, "domains", "N", MZ_OPT_U64, struct kmap_opts, domains,
	       "cut: at most so many domains (default: as many as pay)"),
	MZ_OPT(0, "budget", "CYCLES", MZ_OPT_U64, struct kmap_opts, budget,
	       "cut: what all crossings may cost (default: as the baseline, or as it pays)"),
	MZ_OPT(0, "mechanism", "NAME", MZ_OPT_STR, struct kmap_opts, mechanism,
	       "cut: what a crossing costs: page-tables (default), mpk, tagged, capability, or a "
	       "name "
	       "of --weights"),
	MZ_OPT(0, "weights", "FILE", MZ_OPT_STR, struct kmap_opts, weights,
	       "cut: costs of crossings: CSV with the header mechanism,access,call"),
	MZ_OPT(0, "baseline", "CUT", MZ_OPT_STR, struct kmap_opts, baseline,
	       "cut: compare with this one: topdir, dir, file, function, or a file"),
	MZ_OPT(0, "check", "CUT", MZ_OPT_STR, struct kmap_opts, check,
	       "cut: make none; which accesses of the map would this one deny?"),
	MZ_OPT(0, "to", "FORMAT", MZ_OPT_STR, struct kmap_opts, to,
	       "export: cpm, graphml, csv, jsonl, parquet or sqlite"),
	MZ_OPT(0, "table", "NAME", MZ_OPT_STR, struct kmap_opts, table,
	       "export to csv, jsonl and parquet: functions, objects, accesses (default) or calls"),
	MZ_OPT('o', "output", "FILE", MZ_OPT_STR, struct kmap_opts, output,
	       "merge, cut, export: write here (merge: default standard output; NAME.cmt: a "
	       "container)"),
	MZ_OPT('f', "force", NULL, MZ_OPT_FLAG, struct kmap_opts, force,
	       "replace an existing file"),
	MZ_OPT(0, "json", NULL, MZ_OPT_FLAG, struct kmap_opts, json, "as JSON"),
	MZ_OPT(0, "csv", NULL, MZ_OPT_FLAG, struct kmap_opts, csv, "print CSV, with plain numbers"),
	{0},
};

struct ask {
	const struct kmap_opts *o;
	const char *pattern;
	const char *path;
	struct mz_kmap_model m;
};

/* What is being asked: how the model is read, and the answers to it. */
struct question {
	const char *name;
	const char *argument; /* NULL: none */
	bool choose;	      /* --by says how the model is read; else */
	enum mz_kmap_by by;
	size_t answers; /* 0: it is the report */
	void (*answer)(const struct ask *k, size_t i, struct mz_result_table *a);
};

static void matrix(const struct ask *k, size_t i, struct mz_result_table *a)
{
	(void)i;
	mz_kmap_matrix(&k->m, a);
}

/* Of a member, so many functions are named in text. */
#define TEXT_NAMES 2

static void fields(const struct ask *k, size_t i, struct mz_result_table *a)
{
	(void)i;
	mz_kmap_fields(&k->m, k->pattern, k->o->json || k->o->csv ? 0 : TEXT_NAMES, a);
}

static void object(const struct ask *k, size_t i, struct mz_result_table *a)
{
	switch (i) {
	case 0: mz_kmap_classes(&k->m, k->pattern, a); break;
	case 5: mz_kmap_types(&k->m, k->pattern, a); break;
	case 6: fields(k, i, a); break;
	default: mz_kmap_object(&k->m, k->pattern, (enum mz_kmap_role)(i - 1), a);
	}
}

static void site(const struct ask *k, size_t i, struct mz_result_table *a)
{
	(void)i;
	mz_kmap_site(&k->m, k->pattern, a);
}

static void shared(const struct ask *k, size_t i, struct mz_result_table *a)
{
	(void)i;
	mz_kmap_shared(&k->m, a);
}

static void unused(const struct ask *k, size_t i, struct mz_result_table *a)
{
	(void)i;
	mz_kmap_unused(&k->m, a);
}

static void calls(const struct ask *k, size_t i, struct mz_result_table *a)
{
	(void)i;
	mz_kmap_calls(&k->m, a);
}

static const struct question questions[] = {
	{"matrix", NULL, true, 0, 1, matrix},
	{"object", "PATTERN", false, MZ_KMAP_BY_FUNCTION, 7, object},
	{"fields", "PATTERN", false, MZ_KMAP_BY_FUNCTION, 1, fields},
	{"site", "FUNCTION", false, MZ_KMAP_BY_FUNCTION, 1, site},
	{"calls", NULL, true, 0, 1, calls},
	{"shared", NULL, false, MZ_KMAP_BY_DIR, 1, shared},
	{"unused", NULL, false, MZ_KMAP_BY_DIR, 1, unused},
	{"report", NULL, false, MZ_KMAP_BY_DIR, 0, NULL},
};

static const struct question *find(const char *name)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (!strcmp(questions[i].name, name))
			return &questions[i];
	return NULL;
}

/* ---- showing -------------------------------------------------------------------------- */

/* What a reader must know before believing a figure. */
static void show_warnings(const struct ask *k, const struct question *q)
{
	if (q->answer == calls && !k->m.n_calls)
		console_note("the map has no calls: they are the lines of function_calls, before "
			     "the map or alone");
	else if (q->answer != calls && !k->m.accesses && q->answer != object)
		console_note("the map has no accesses: it was recorded without counting them");
	else if (q->answer == fields && k->m.has_members)
		return;
	else if (q->answer == fields && !k->m.has_ranges)
		console_note("the map does not record which bytes were accessed: record it with "
			     "'memorizer vm --fields'");
	else if (q->answer == fields && !k->m.types)
		console_note(
			"no structures are known: name a vmlinux with DWARF or BTF with --symbols");
	else if (!k->m.has_dirs &&
		 (q->answer == shared || (q->choose && k->m.by <= MZ_KMAP_BY_FILE)))
		console_note("no folders are known: name System.map.files, or a vmlinux with "
			     "DWARF, with --symbols");
}

static void show(const struct ask *k, const struct question *q, struct mz_result_table *a, size_t i,
		 struct mz_json *j)
{
	size_t usual = k->o->json || k->o->csv ? 0 : q->answer == fields ? TEXT_FIELDS : TEXT_ROWS;
	size_t rows = options_limit(&k->o->limit, usual);

	if (k->o->json) {
		answer_json(j, a, rows);
	} else if (k->o->csv) {
		/* the other tables have other columns: they are left to --json */
		if (q->answers == 1 || (i && i < 5))
			answer_csv(a, rows, q->answers > 1 ? "role" : NULL, i < 2);
	} else if (i < 5 || k->m.types || k->m.has_members) {
		if (i)
			putchar('\n');
		answer_text(a, rows);
	}
}

static int answer(const struct ask *k, const struct question *q)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	bool failed = false;

	if (k->o->json)
		mz_json_object(&j, NULL);
	for (size_t i = 0; i < q->answers && !failed; i++) {
		struct mz_result_table a;

		q->answer(k, i, &a);
		failed = a.failed;
		if (!failed)
			show(k, q, &a, i, &j);
		mz_result_deinit(&a);
	}
	if (k->o->json)
		mz_json_end_object(&j);
	failed |= b.failed;
	if (!failed && k->o->json)
		fwrite(b.data, 1, b.len, stdout);
	mz_buf_free(&b);
	return failed ? console_fail("out of memory") : MZ_EXIT_OK;
}

/* ---- the verb --------------------------------------------------------------------------- */

static int level(const struct kmap_opts *o, const struct question *q, enum mz_kmap_by *by)
{
	*by = q->by;
	if (!o->by_name)
		return -1;
	if (!q->choose)
		return console_usage("--by applies to matrix, calls and privilege only");
	for (unsigned i = 0; levels[i]; i++) {
		if (strcmp(levels[i], o->by_name))
			continue;
		*by = (enum mz_kmap_by)i;
		if (q->answer == calls && *by > MZ_KMAP_BY_FUNCTION)
			return console_usage("calls --by takes dir, file or function");
		return -1;
	}
	return console_usage("--by takes dir, file, function, cache or pid; not '%s'", o->by_name);
}

static int open_and_answer(struct ask *k, const struct question *q,
			   const struct mz_recording_model *how)
{
	struct mz_recording_options ro = {
		.want = MZ_RECORDING_KMAP, .symbols = k->o->symbols, .skip_bad = k->o->skip_bad};
	char *paths[] = {(char *)k->path};
	struct mz_recording r;
	struct mz_error err = {0};
	struct progress progress;
	int ret = recording_open(&r, paths, 1, &ro, &progress, &err);

	if (ret < 0) {
		ret = console_error(&err);
	} else if (!q->answers) {
		ret = kmap_report_run(&r, options_limit(&k->o->limit, KMAP_REPORT_ROWS),
				      k->o->json);
	} else if (recording_model(&r, how, &k->m, &err) < 0) {
		ret = console_error(&err);
	} else {
		show_warnings(k, q);
		ret = answer(k, q);
	}
	mz_kmap_model_deinit(&k->m);
	mz_recording_close(&r);
	return ret;
}

/* args: what follows the question. */
static int ask(const struct kmap_opts *o, const struct question *q, int argc, char **argv)
{
	struct ask k = {.o = o, .path = "-"};
	struct mz_recording_model how = {.types = q->answer == object || q->answer == fields,
					 .or_function = (q->choose || !q->answers) && !o->by_name};
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
	return open_and_answer(&k, q, &how);
}

/* What is more than a question to one map. */
static const struct {
	const char *name;
	int (*run)(const struct kmap_opts *o, int argc, char **argv);
} tasks[] = {
	{"cut", kmap_cut},     {"export", kmap_export},	      {"functions", kmap_functions},
	{"merge", kmap_merge}, {"privilege", kmap_privilege},
};

static int run(void *options, int argc, char **argv)
{
	const struct question *q = argc ? find(argv[0]) : NULL;

	if (q)
		return ask(options, q, argc - 1, argv + 1);
	for (size_t i = 0; argc && i < sizeof(tasks) / sizeof(*tasks); i++)
		if (!strcmp(tasks[i].name, argv[0]))
			return tasks[i].run(options, argc - 1, argv + 1);
	return console_usage("%s%s%s there are matrix, object, fields, site, calls, shared, "
			     "unused, functions, merge, privilege, cut, export and report",
			     argc ? "no question '" : "which question?", argc ? argv[0] : "",
			     argc ? "';" : "");
}

MZ_CMD(kmap, "kmap", struct kmap_opts, "QUESTION [KMAP|-]",
       "query a KMAP: which code touches which kernel objects", .reads = true, .prints = true);
