// SPDX-License-Identifier: BSD-2-Clause
/* Query a store, and print the answer as text, JSON or CSV. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmds/metric.h"
#include "cmds/store/store.h"
#include "cmds/table_print.h"

#define TEXT_ROWS 20

/* As diff(1) has it: 1 is the answer "over the budget", not a failure. */
enum { GATE_FINE, GATE_OVER, GATE_TROUBLE };

struct asking {
	const struct store_opts *o;
	struct mz_store store;
	struct mz_store_filter f;
	const struct mz_profile_value *metric;
	size_t limit;
	size_t older; /* rows that precede those that are shown */
	struct mz_result_table t;
	char title[128]; /* of t, where it is longer than the metric's */
	struct mz_store_verdict verdict;
	struct mz_store_looked looked; /* regressions */
	struct mz_error err;
};

/* ---- options -------------------------------------------------------------------------- */

static int choice(const char *text, const char *const *names, int usual)
{
	for (int i = 0; names[i] && text; i++)
		if (!strcmp(names[i], text))
			return i;
	return text ? -1 : usual;
}

/* What --by may be, in the order of the enums. */
static const char *const tops[] = {"function", "stack",	   "object", "member", "accessor",
				   "program",  "revision", "host",   NULL};
static const char *const steps[] = {"revision", "day", "recording", NULL};
static const char *const diffs[] = {"function", "stack", "object", NULL};

static int check_by(enum store_what what, const char *by)
{
	if (what == STORE_TOP && choice(by, tops, 0) < 0)
		return console_usage("--by: function, stack, object, member, accessor, program, "
				     "revision or host, not '%s'",
				     by);
	if (what == STORE_TREND && choice(by, steps, 0) < 0)
		return console_usage("--by: revision, day or recording, not '%s'", by);
	if (what == STORE_DIFF && choice(by, diffs, 0) < 0)
		return console_usage("--by: stack, function or object, not '%s'", by);
	return 0;
}

static int prepare(struct asking *a)
{
	const struct store_opts *o = a->o;

	a->f = (struct mz_store_filter){.program = o->program,
					.revision = o->revision,
					.host = o->host,
					.labels = o->labels.value,
					.nlabels = o->labels.n};
	if (o->since && !store_time(o->since, &a->f.since))
		return console_usage("--since: '%s' is not a time", o->since);
	if (o->until && !store_time(o->until, &a->f.until))
		return console_usage("--until: '%s' is not a time", o->until);
	a->metric = metric_find(o->metric ? o->metric : "peak");
	if (!a->metric)
		return MZ_EXIT_USAGE;
	a->limit = options_limit(&o->limit, o->json || o->csv ? 0 : TEXT_ROWS);
	return 0;
}

/* ---- recordings that lack a value ------------------------------------------------------ */

/*
 * Some recordings lack a value: a KMAP has no peak. The answer is about the others, and says so;
 * without others there is no answer.
 */
static int check_known(struct asking *a, const struct mz_store_filter *f, uint32_t need,
		       const char *what)
{
	struct mz_store_filter of = *f;
	uint64_t all, known;
	int ret = mz_store_count(&a->store, &of, &all, &a->err);

	of.known |= need;
	if (!ret)
		ret = mz_store_count(&a->store, &of, &known, &a->err);
	if (ret || known == all)
		return ret;
	if (!known)
		return mz_fail(&a->err, ENODATA,
			       "%s: none of these %llu recordings contains it (a KMAP has no "
			       "peak); choose another value, such as live",
			       what, (unsigned long long)all);
	console_note("%s: %llu of these %llu recordings do not contain it and are left out", what,
		     (unsigned long long)(all - known), (unsigned long long)all);
	return 0;
}

static int check_metric(struct asking *a, const char *revision)
{
	struct mz_store_filter of = a->f;

	of.revision = revision ? revision : of.revision;
	return check_known(a, &of, a->metric->has, a->metric->title);
}

/* ---- questions -------------------------------------------------------------------------- */

static int ask_list(struct asking *a)
{
	struct mz_store_entries e;
	int ret = mz_store_list(&a->store, &a->f, &e, &a->err);

	if (!ret && mz_store_answer_list(&e, &a->t))
		ret = mz_fail_memory(&a->err);
	mz_store_entries_free(&e);
	return ret;
}

static int ask_top(struct asking *a)
{
	int by = choice(a->o->by, tops, MZ_STORE_BY_SITE), ret;

	/* objects have no peak */
	if (!a->o->metric && by >= MZ_STORE_BY_OBJECT && by <= MZ_STORE_BY_ACCESSOR)
		a->metric = mz_profile_find_value(by == MZ_STORE_BY_OBJECT ? "bytes" : "reads");
	/* rows of programs, revisions and hosts show unknown values themselves */
	if (by < MZ_STORE_BY_PROGRAM && check_metric(a, NULL))
		return -EINVAL;
	ret = mz_store_answer_top(&a->store, (enum mz_store_by)by, a->metric, &a->f, a->limit,
				  &a->t, &a->err);
	if (ret || by >= MZ_STORE_BY_PROGRAM)
		return ret;
	snprintf(a->title, sizeof(a->title),
		 "%s; the mean is over all recordings, including those without the row",
		 a->t.title);
	a->t.title = a->title;
	return 0;
}

/* The end of a trend is what users look for. */
static void keep_newest(struct asking *a)
{
	size_t columns = a->t.n_columns;

	a->older = a->t.rows - a->limit;
	a->t.rows = a->limit;
	memmove(a->t.cells, a->t.cells + a->older * columns,
		a->limit * columns * sizeof(*a->t.cells));
}

static int ask_trend(struct asking *a, int argc, char **argv)
{
	int step = choice(a->o->by, steps, MZ_STORE_STEP_REVISION);
	int ret = check_metric(a, NULL);

	if (!ret)
		ret = mz_store_answer_trend(&a->store, argc ? argv[0] : "", a->metric, &a->f,
					    (enum mz_store_step)step, &a->t, &a->err);
	if (!ret && a->limit && a->t.rows > a->limit)
		keep_newest(a);
	return ret;
}

static int ask_diff(struct asking *a, char **argv)
{
	int by = choice(a->o->by, diffs, MZ_STORE_BY_STACK);

	if (!a->o->metric && by == MZ_STORE_BY_OBJECT)
		a->metric = mz_profile_find_value("bytes");
	if (check_metric(a, argv[0]) || check_metric(a, argv[1]))
		return -EINVAL;
	return mz_store_answer_diff(&a->store, argv[0], argv[1], (enum mz_store_by)by, a->metric,
				    &a->f, a->limit, &a->t, &a->err);
}

static int ask_regressions(struct asking *a)
{
	const struct store_opts *o = a->o;
	bool least = options_given(&cmd_store, o, "least");
	struct mz_store_noise noise = {.chance = o->chance > 0 ? o->chance : 0.001,
				       .least = least ? o->least : 0.05,
				       .runs = o->history ? o->history : 1000};
	const struct mz_store_looked *l = &a->looked;
	int ret = check_metric(a, NULL);

	if (!ret)
		ret = mz_store_answer_regressions(&a->store, a->metric, &a->f, &noise, &a->t,
						  &a->looked, &a->err);
	if (!ret)
		console_note("looked at %zu recordings and %zu call sites, for changes at %zu "
			     "revisions; at --chance %g a change needs at least %zu recordings on "
			     "either side%s",
			     l->runs, l->series - 1, l->splits, noise.chance, l->needed,
			     l->enough ? "" : ": these are too few to find one");
	return ret;
}

/* ---- the gate ------------------------------------------------------------------------------ */

static int parse_budgets(const struct store_opts *o, struct mz_budget **list, size_t *n,
			 struct mz_error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < o->fail_if.n && !ret; i++)
		ret = mz_budgets_parse(list, n, o->fail_if.value[i], err);
	return ret;
}

static int ask_gate(struct asking *a)
{
	const struct store_opts *o = a->o;
	struct mz_store_noise noise = {.chance = o->chance > 0 ? o->chance : 0.05,
				       .runs = o->history ? o->history : 100};
	struct mz_budget *budgets = NULL;
	size_t n = 0;
	struct mz_store_filter all = a->f;
	int ret = parse_budgets(o, &budgets, &n, &a->err);

	all.revision = NULL;
	for (size_t i = 0; i < n && !ret; i++)
		ret = check_known(a, &all, budgets[i].value->has, budgets[i].text);
	if (!ret)
		ret = mz_store_answer_gate(&a->store, budgets, n, &a->f, &noise, &a->verdict, &a->t,
					   &a->err);
	if (!ret)
		console_note("%s, revision %s: %zu recordings against %zu before it; %zu of %zu "
			     "budgets exceeded",
			     a->verdict.program,
			     *a->verdict.revision ? a->verdict.revision : "(none)", a->verdict.runs,
			     a->verdict.history, a->verdict.broken, n);
	free(budgets);
	return ret;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_looked(struct mz_json *w, const struct mz_store_looked *l)
{
	mz_json_object(w, "looked_at");
	mz_json_u64(w, "recordings", l->runs);
	mz_json_u64(w, "call_sites", l->series - 1);
	mz_json_u64(w, "revisions", l->splits);
	mz_json_u64(w, "needed_on_either_side", l->needed);
	mz_json_bool(w, "enough", l->enough);
	mz_json_end_object(w);
}

static int print(struct asking *a)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};
	char count[32];

	if (a->o->csv) {
		answer_csv(&a->t, a->limit, NULL, true);
		return 0;
	}
	if (!a->o->json) {
		answer_text(&a->t, a->limit);
		if (a->older)
			printf("  ... and %s older (--limit 0 shows all)\n",
			       console_count(count, a->older));
		return 0;
	}
	mz_json_object(&w, NULL);
	mz_json_str(&w, "metric", a->metric->name);
	if (a->looked.series)
		put_looked(&w, &a->looked);
	answer_json(&w, &a->t, a->limit);
	mz_json_end_object(&w);
	return console_put(&b, stdout) < 0 ? mz_fail_memory(&a->err) : 0;
}

static int ask(struct asking *a, enum store_what what, int argc, char **argv)
{
	switch (what) {
	case STORE_LIST: return ask_list(a);
	case STORE_TOP: return ask_top(a);
	case STORE_TREND: return ask_trend(a, argc, argv);
	case STORE_DIFF: return ask_diff(a, argv);
	case STORE_REGRESSIONS: return ask_regressions(a);
	default: return ask_gate(a);
	}
}

static int check_arguments(enum store_what what, const struct store_opts *o, int argc)
{
	if (what == STORE_DIFF && o->revision)
		return console_usage(
			"diff names its revisions after the store, without --revision");
	if (what == STORE_DIFF)
		return argc == 2 ? 0 : console_usage("diff takes a store and two revisions");
	if (what == STORE_TREND)
		return argc < 2 ? 0
				: console_usage("trend takes a store and at most one call site");
	if (argc)
		return console_usage("this question takes one store");
	if (what == STORE_GATE && !o->fail_if.n)
		return console_usage("gate needs a budget: --fail-if 'peak > +5%%'");
	return 0;
}

int store_ask(enum store_what what, const struct store_opts *o, const char *store, int argc,
	      char **argv)
{
	struct asking a = {.o = o};
	int ret = check_arguments(what, o, argc);

	if (!ret)
		ret = check_by(what, o->by);
	if (!ret)
		ret = prepare(&a);
	if (ret)
		return ret;
	ret = mz_store_open(&a.store, store, o->credentials, false, &a.err);
	if (!ret)
		ret = ask(&a, what, argc, argv);
	if (!ret)
		ret = print(&a);
	mz_result_deinit(&a.t);
	mz_store_close(&a.store);
	if (ret < 0) {
		console_error(&a.err);
		ret = what == STORE_GATE ? GATE_TROUBLE : MZ_EXIT_FAILED;
	} else if (what == STORE_GATE && (fflush(stdout) || ferror(stdout))) {
		ret = GATE_TROUBLE; /* main() says why; 1 would mean "over the budget" */
	} else if (a.verdict.broken) {
		ret = GATE_OVER;
	}
	free(a.verdict.program);
	free(a.verdict.revision);
	return ret;
}
