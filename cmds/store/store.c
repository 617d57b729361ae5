// SPDX-License-Identifier: BSD-2-Clause
/* Keep the recordings of many machines and revisions, and query them. */
#include <stdlib.h>
#include <string.h>

#include "cmds/metric.h"
#include "cmds/recording.h"
#include "cmds/store/store.h"

#define FILTERS (STORE_LIST | STORE_TOP | STORE_TREND | STORE_DIFF | STORE_REGRESSIONS | STORE_GATE)
#define NOISE	(STORE_REGRESSIONS | STORE_GATE)

static const char *const names[] = {"add",	   "list", "top",   "trend", "diff",
				    "regressions", "gate", "prune", NULL};
static const char *const scopes[] = {"with add",   "with list",	 "with top",
				     "with trend", "with diff",	 "with regressions",
				     "with gate",  "with prune", NULL};

static const char *const bys[] = {"function", "stack", "object", "member",    "accessor", "program",
				  "revision", "host",  "day",	 "recording", NULL};
/* a function with its file, without lines */
static const struct mz_opt_old_word old_bys[] = {{"site", "function"}, {0}};

static const struct mz_opt opts[] = {
	MZ_OPT(0, "program", "NAME", MZ_OPT_STR, struct store_opts, program,
	       "only this program (add: the name to store it under; default: its command, without "
	       "folders and arguments)"),
	MZ_OPT(0, "revision", "REV", MZ_OPT_STR, struct store_opts, revision,
	       "only this revision (add: the revision of the program; gate: the one to judge, "
	       "default: the newest)"),
	MZ_OPT(0, "host", "NAME", MZ_OPT_STR, struct store_opts, host,
	       "only this machine (add: the machine; default: the one in the recording)"),
	MZ_OPT(0, "label", "KEY=VALUE", MZ_OPT_LIST, struct store_opts, labels,
	       "only with this label (add: a label to store); may be repeated"),
	MZ_OPT_CREDENTIALS(struct store_opts, credentials, "ClickHouse: ",
			   " (default: MEMORIZER_STORE_USER and MEMORIZER_STORE_PASSWORD)"),
	MZ_OPT_JSON(struct store_opts, json),
	{.name = "recorded",
	 .alias = "time",
	 .arg = "TIME",
	 .help = "when it was recorded (default: when its file was written): 2026-03-01, "
		 "2026-03-01T12:00:00 (UTC; append +02:00 for another zone), seconds "
		 "since 1970, or 30d for 30 days ago",
	 .type = MZ_OPT_STR,
	 .offset = offsetof(struct store_opts, time),
	 .scope = STORE_ADD},
	MZ_OPT_FOR(STORE_ADD, 0, "spool", "DIR", MZ_OPT_STR, struct store_opts, spool,
		   "keep recordings in DIR while the store does not answer, and first send those "
		   "that are there"),
	MZ_OPT_FOR(
		STORE_ADD, 0, "tries", "N", MZ_OPT_U64, struct store_opts, tries,
		"try N times while the store does not answer (5), with longer and longer pauses"),
	RECORDING_SYMBOLS_FOR(STORE_ADD, struct store_opts, symbols),
	MZ_OPT_FOR(
		FILTERS, 0, "since", "TIME", MZ_OPT_STR, struct store_opts, since,
		"only recorded since TIME: a time as with --recorded, or 30d for the last 30 days"),
	MZ_OPT_FOR(FILTERS, 0, "until", "TIME", MZ_OPT_STR, struct store_opts, until,
		   "only recorded before TIME"),
	MZ_SWITCH_FOR(FILTERS, 0, "csv", struct store_opts, csv, "print CSV"),
	MZ_OPT_ROWS(
		STORE_LIST | STORE_TOP | STORE_TREND | STORE_DIFF | STORE_REGRESSIONS,
		struct store_opts, limit,
		"rows of a list: 20 in text, all in JSON and CSV; 0 = all; trend: the newest N"),
	MZ_OPT_BY(STORE_TOP | STORE_TREND | STORE_DIFF, struct store_opts, by, MZ_OPT_STR, bys,
		  old_bys,
		  "top: function (default), stack, object, member, accessor, program, revision or "
		  "host; diff: stack (default), function or object; trend: revision (default), day "
		  "or recording"),
	METRIC_OPT(STORE_TOP | STORE_TREND | STORE_DIFF | STORE_REGRESSIONS, struct store_opts,
		   metric, NULL, ""),
	MZ_OPT_FOR(STORE_GATE, 0, "fail-if", "BUDGET", MZ_OPT_LIST, struct store_opts, fail_if,
		   "exit with 1 if the revision is over this budget against its history: 'peak > "
		   "+5%', 'any live > +1MiB'; may be repeated, or separated by commas"),
	MZ_OPT_FOR(NOISE, 0, "chance", "P", MZ_OPT_DOUBLE, struct store_opts, chance,
		   "count a change only if chance alone would produce such a change with a "
		   "probability below P (regressions: 0.001; gate: 0.05)"),
	{.name = "history",
	 .alias = "runs",
	 .arg = "N",
	 .help = "the number of newest recordings to look at (regressions: 1000; gate: 100 before "
		 "the revision)",
	 .type = MZ_OPT_U64,
	 .offset = offsetof(struct store_opts, history),
	 .scope = NOISE},
	MZ_OPT_FOR(STORE_REGRESSIONS, 0, "least", "SHARE", MZ_OPT_DOUBLE, struct store_opts, least,
		   "count a change only if it is at least this share of the earlier value (0.05)"),
	MZ_OPT_FOR(STORE_PRUNE, 0, "older", "TIME", MZ_OPT_STR, struct store_opts, older,
		   "remove recordings from before that time: a time as with --recorded, or 365d"),
	MZ_OPT_FOR(STORE_PRUNE, 0, "keep", "N", MZ_OPT_U64, struct store_opts, keep,
		   "of these, keep the newest N of each program, host and revision"),
	MZ_SWITCH_FOR(STORE_PRUNE, 0, "dry-run", struct store_opts, dry_run,
		      "show what would be removed, but remove nothing"),
	{0},
};

static bool has_key(const char *label, const char *key, size_t n)
{
	return !strncmp(label, key, n) && label[n] == '=';
}

/* A recording has one value per key, so two different values match nothing. */
static int check_labels(const struct store_opts *o)
{
	for (unsigned i = 0; i < o->labels.n; i++) {
		const char *label = o->labels.value[i];

		if (!mz_store_is_label(label))
			return console_usage("--label: '%s' is not KEY=VALUE", label);
		for (unsigned k = 0; k < i; k++)
			if (has_key(o->labels.value[k], label, strcspn(label, "=")))
				return console_usage("--label: '%s' and '%s' have the same key",
						     o->labels.value[k], label);
	}
	return 0;
}

static int run(void *options, int argc, char **argv);

MZ_CMD(store, "store", struct store_opts,
       "add|list|top|trend|diff|regressions|gate|prune STORE [ARGUMENT...]",
       "keep recordings of many machines and revisions, and compare them", .scopes = scopes,
       .reads = true, .prints = true);

/* A value without a meaning is a mistake, not a request for the default. */
static int check_numbers(const struct store_opts *o)
{
	if (options_given(&cmd_store, o, "chance") && !(o->chance > 0 && o->chance < 1))
		return console_usage("--chance: a probability between 0 and 1");
	if (options_given(&cmd_store, o, "tries") && !o->tries)
		return console_usage("--tries: 1 or more");
	if (options_given(&cmd_store, o, "history") && !o->history)
		return console_usage("--history: 1 or more");
	return 0;
}

static int run(void *options, int argc, char **argv)
{
	const struct store_opts *o = options;
	unsigned what = 0;
	int ret;

	if (argc < 1)
		return console_usage(
			"name an action: add, list, top, trend, diff, regressions, gate or prune");
	while (names[what] && strcmp(names[what], argv[0]))
		what++;
	if (!names[what])
		return console_usage(
			"unknown action '%s'; use add, list, top, trend, diff, regressions, "
			"gate or prune",
			argv[0]);
	if (argc < 2)
		return console_usage("name the store: a file, or clickhouse://HOST:PORT/DB");
	if (!*argv[1])
		return console_usage("the name of the store is empty");
	ret = options_check_scope(&cmd_store, o, what);
	if (ret < 0)
		ret = check_labels(o) || check_numbers(o) ? MZ_EXIT_USAGE : -1;
	if (ret >= 0)
		return ret;
	if (1u << what == STORE_ADD)
		return store_add(o, argv[1], argc - 2, argv + 2);
	if (1u << what == STORE_PRUNE)
		return argc > 2 ? console_usage("prune takes one store") : store_prune(o, argv[1]);
	return store_ask(1u << what, o, argv[1], argc - 2, argv + 2);
}
