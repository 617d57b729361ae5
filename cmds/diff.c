// SPDX-License-Identifier: BSD-2-Clause
/* Show what changed between two recordings and check memory budgets. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff_budget.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/metric.h"
#include "cmds/recording.h"
#include "export/table.h"

/* As diff(1) has it: 1 is the answer "over the budget", not a failure. */
enum { EXIT_FINE, EXIT_OVER, EXIT_TROUBLE };

#define DEFAULT_LIMIT 10

static const char *const bys[] = {"function", "site", "stack", "file", "module", "object", NULL};
static const struct mz_opt_old_word old_bys[] = {{"line", "site"}, {0}};

struct diff_opts {
	struct mz_opt_list fail_if;
	const char *metric;
	struct mz_opt_limit limit;
	const char *symbols;
	unsigned by;
	bool json;
	bool csv;
};

static const struct mz_opt opts[] = {
	MZ_OPT(0, "fail-if", "BUDGET", MZ_OPT_LIST, struct diff_opts, fail_if,
	       "exit with 1 if the condition holds: 'peak > +5%', 'live_blocks > 1000', 'any peak "
	       "> +1MiB'; may be repeated, or separated by commas"),
	MZ_OPT_BY(0, struct diff_opts, by, MZ_OPT_CHOICE, bys, old_bys,
		  "match by function (default), site, stack, file, module, or object (KMAPs)"),
	METRIC_OPT(0, struct diff_opts, metric, "sort", "compare by "),
	MZ_OPT_ROWS(0, struct diff_opts, limit, "rows of a list (10); 0 = all"),
	RECORDING_SYMBOLS(struct diff_opts, symbols),
	MZ_OPT_JSON(struct diff_opts, json),
	MZ_SWITCH(0, "csv", struct diff_opts, csv, "print CSV, one line per call site"),
	{0},
};

/* A value that both recordings contain. */
struct value {
	char name[32];
	const char *title;
	bool bytes;
	size_t at; /* its column for A; that for B follows */
};

#define MAX_VALUES 32

struct diff_job {
	const struct diff_opts *o;
	const char *names[2];
	struct mz_analysis *of[2];
	struct progress progress[2];
	struct mz_totals totals[2];
	struct mz_early_end ends[2];
	struct mz_result_table *whole, *rows;
	struct value values[MAX_VALUES];
	size_t nvalues;
	const struct value *sort;
	size_t limit;
	struct mz_budget *budgets;
	size_t nbudgets;
	bool *broken;
	bool unwritten; /* the output; main() says so */
	struct mz_error err;
};

static int trouble(const struct mz_error *err)
{
	console_error(err);
	return EXIT_TROUBLE;
}

/* ---- the tables --------------------------------------------------------- */

#define PLACE	 0
#define STACKS_A 1
#define STACKS_B 2
#define FIRST	 3 /* of the values */

/* They come in pairs: peak_bytes_a, peak_bytes_b. */
static void find_values(struct diff_job *j)
{
	const struct mz_result_table *t = j->whole;

	for (size_t at = FIRST; at + 1 < mz_result_columns(t) && j->nvalues < MAX_VALUES; at += 2) {
		struct value *v = &j->values[j->nvalues++];
		const char *key = mz_result_key(t, at);

		snprintf(v->name, sizeof(v->name), "%.*s", (int)strlen(key) - 2, key);
		v->title = mz_result_title(t, at);
		v->bytes = mz_result_type_of(t, at) == MZ_RESULT_BYTES;
		v->at = at;
	}
}

static const struct value *find_value(const struct diff_job *j, const char *name)
{
	for (size_t i = 0; i < j->nvalues; i++)
		if (!strcmp(j->values[i].name, name))
			return &j->values[i];
	return NULL;
}

static uint64_t get(const struct mz_result_table *t, size_t row, const struct value *v, size_t of)
{
	return mz_result_number(t, row, v->at + of);
}

static const char *place(const struct diff_job *j, size_t row)
{
	return mz_result_string(j->rows, row, PLACE);
}

static const char *state_of(const struct diff_job *j, size_t row)
{
	uint64_t a = get(j->rows, row, j->sort, 0), b = get(j->rows, row, j->sort, 1);

	if (!mz_result_number(j->rows, row, STACKS_A))
		return "appeared";
	if (!mz_result_number(j->rows, row, STACKS_B))
		return "gone";
	return b > a ? "grew" : b < a ? "shrank" : "same";
}

/* ---- budgets ------------------------------------------------------------ */

static int parse_budgets(struct diff_job *j)
{
	for (unsigned i = 0; i < j->o->fail_if.n; i++)
		if (mz_budgets_parse(&j->budgets, &j->nbudgets, j->o->fail_if.value[i], &j->err))
			return -EINVAL;
	j->broken = calloc(j->nbudgets ? j->nbudgets : 1, sizeof(*j->broken));
	return j->broken ? 0 : mz_fail_memory(&j->err);
}

static void tell_broken(const struct mz_budget *b, const char *where, uint64_t from, uint64_t to)
{
	double x = mz_budget_actual(b, from, to);
	char a[32], c[32], name[200];

	if (b->value->bytes) {
		console_bytes(a, from);
		console_bytes(c, to);
	} else {
		console_count(a, from);
		console_count(c, to);
	}
	if (b->percent && isfinite(x))
		console_note("over the budget: %s: %s%s%s to %s, %+.1f%%%s", b->text,
			     where ? mz_printable(name, sizeof(name), where, strlen(where)) : "",
			     where ? ": " : "", a, c, x, b->change ? "" : " of the first");
	else
		console_note("over the budget: %s: %s%s%s to %s", b->text,
			     where ? mz_printable(name, sizeof(name), where, strlen(where)) : "",
			     where ? ": " : "", a, c);
}

static bool check_row(const struct mz_budget *b, const struct value *v,
		      const struct mz_result_table *t, size_t row)
{
	uint64_t from = get(t, row, v, 0), to = get(t, row, v, 1);

	if (!mz_budget_broken(b, from, to))
		return false;
	tell_broken(b, b->any ? mz_result_string(t, row, PLACE) : NULL, from, to);
	return true;
}

/* Of a sampled recording, a peak is the greatest of many estimates: even two recordings of the same
 * program differ by more than a budget allows. */
static int refuse_peak(struct diff_job *j, const struct mz_budget *b)
{
	for (size_t i = 0; i < 2; i++)
		if (j->totals[i].lost_by[MZ_LOSS_SAMPLED] && !strncmp(b->value->name, "peak_", 5))
			return mz_fail(
				&j->err, EINVAL,
				"'%s': %s was sampled, and " SAMPLED_PEAK
				": record with --wait, without --sample, or check another metric",
				b->text, j->names[i]);
	return 0;
}

/* The number of exceeded budgets; -errno: one of them cannot be evaluated. */
static int check_budgets(struct diff_job *j)
{
	int n = 0;

	for (size_t i = 0; i < j->nbudgets; i++) {
		const struct mz_budget *b = &j->budgets[i];
		const struct mz_result_table *t = b->any ? j->rows : j->whole;
		const struct value *v = find_value(j, b->value->name);

		if (!v)
			return mz_fail(&j->err, EINVAL,
				       "'%s': the recordings do not both contain %s", b->text,
				       b->value->title);
		if (refuse_peak(j, b) < 0)
			return -EINVAL;
		for (size_t k = 0; k < mz_result_rows(t); k++)
			j->broken[i] |= check_row(b, v, t, k);
		n += j->broken[i];
	}
	return n;
}

/* ---- text --------------------------------------------------------------- */

static char *value_text(char *buf, const struct value *v, uint64_t x)
{
	return v->bytes ? console_bytes(buf, x) : console_count(buf, x);
}

/* "+1.2 MiB" */
static char *change_text(char *buf, const struct value *v, uint64_t a, uint64_t b)
{
	buf[0] = b >= a ? '+' : '-';
	value_text(buf + 1, v, b >= a ? b - a : a - b);
	return buf;
}

static char *share_text(char *buf, size_t size, uint64_t a, uint64_t b)
{
	if (a)
		snprintf(buf, size, "%+.1f%%", 100 * ((double)b - (double)a) / (double)a);
	else
		snprintf(buf, size, "%s", b ? "new" : "");
	return buf;
}

/* Are the times of both recordings ns? Some traces count events instead, or say nothing. */
static bool has_ns(const struct diff_job *j)
{
	for (size_t i = 0; i < 2; i++)
		if (mz_analysis_kind(j->of[i]) != MZ_RECORDING_USER ||
		    j->totals[i].last_time == j->totals[i].first_time)
			return false;
	return true;
}

static void show_totals(const struct diff_job *j)
{
	char a[40], b[40], c[40], s[40];

	printf("%-16s %14s %14s %14s\n", "", "A", "B", "change");
	for (size_t i = 0; i < j->nvalues; i++) {
		const struct value *v = &j->values[i];
		uint64_t x = get(j->whole, 0, v, 0), y = get(j->whole, 0, v, 1);

		if (!strncmp(v->name, "max_", 4) || (!x && !y))
			continue;
		printf("%-16s %14s %14s %14s %9s\n",
		       !strcmp(v->name, "lifetime") && has_ns(j) ? "lifetime (ns)" : v->name,
		       value_text(a, v, x), value_text(b, v, y), change_text(c, v, x, y),
		       share_text(s, sizeof(s), x, y));
	}
}

static void show_row(const struct diff_job *j, size_t row)
{
	uint64_t x = get(j->rows, row, j->sort, 0), y = get(j->rows, row, j->sort, 1);
	char a[40], b[40], c[40], s[40], name[200];

	printf("  %12s %9s %12s -> %-12s %s\n", change_text(c, j->sort, x, y),
	       share_text(s, sizeof(s), x, y), value_text(a, j->sort, x), value_text(b, j->sort, y),
	       mz_printable(name, sizeof(name), place(j, row), strlen(place(j, row))));
}

static void show_rows(const struct diff_job *j, const char *state, const char *title)
{
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < mz_result_rows(j->rows); i++) {
		if (strcmp(state_of(j, i), state) ||
		    get(j->rows, i, j->sort, 0) == get(j->rows, i, j->sort, 1))
			continue;
		if (j->limit && shown == j->limit) {
			left++;
			continue;
		}
		if (!shown++)
			printf("\n%s, by %s\n", title, j->sort->title);
		show_row(j, i);
	}
	if (left)
		printf("  and %zu more; --limit 0 shows all\n", left);
}

static void show_text(const struct diff_job *j)
{
	show_totals(j);
	show_rows(j, "appeared", "Appeared");
	show_rows(j, "grew", "Grew");
	show_rows(j, "shrank", "Shrank");
	show_rows(j, "gone", "Gone");
}

/* ---- JSON --------------------------------------------------------------- */

static void json_sums(struct mz_json *out, const struct diff_job *j,
		      const struct mz_result_table *t, size_t row)
{
	for (size_t i = 0; i < j->nvalues; i++) {
		const struct value *v = &j->values[i];

		mz_json_object(out, v->name);
		mz_json_u64(out, "a", get(t, row, v, 0));
		mz_json_u64(out, "b", get(t, row, v, 1));
		mz_json_end_object(out);
	}
}

static void json_changes(struct mz_json *out, const struct diff_job *j)
{
	size_t shown = 0;

	mz_json_array(out, "changes");
	for (size_t i = 0; i < mz_result_rows(j->rows) && (!j->limit || shown < j->limit); i++) {
		if (!strcmp(state_of(j, i), "same"))
			continue;
		mz_json_object(out, NULL);
		mz_json_str(out, "place", place(j, i));
		mz_json_str(out, "state", state_of(j, i));
		json_sums(out, j, j->rows, i);
		mz_json_end_object(out);
		shown++;
	}
	mz_json_end_array(out);
}

static int show_json(const struct diff_job *j)
{
	struct mz_buf b = {0};
	struct mz_json out = {.out = &b};

	mz_json_object(&out, NULL);
	mz_json_str(&out, "a", j->names[0]);
	mz_json_str(&out, "b", j->names[1]);
	mz_json_str(&out, "by", bys[j->o->by]);
	mz_json_str(&out, "sort", j->sort->name);
	mz_json_object(&out, "lost");
	lost_json(&out, "a", j->totals[0].lost_by);
	lost_json(&out, "b", j->totals[1].lost_by);
	mz_json_end_object(&out);
	mz_json_object(&out, MZ_FILES_CUT);
	mz_json_u64(&out, "a", j->ends[0].files);
	mz_json_u64(&out, "b", j->ends[1].files);
	mz_json_end_object(&out);
	mz_json_object(&out, "totals");
	json_sums(&out, j, j->whole, 0);
	mz_json_end_object(&out);
	mz_json_u64(&out, "places", mz_result_rows(j->rows));
	json_changes(&out, j);
	mz_json_array(&out, "budgets");
	for (size_t i = 0; i < j->nbudgets; i++) {
		mz_json_object(&out, NULL);
		mz_json_str(&out, "budget", j->budgets[i].text);
		mz_json_bool(&out, "over", j->broken[i]);
		mz_json_end_object(&out);
	}
	mz_json_end_array(&out);
	mz_json_end_object(&out);
	return console_put(&b, stdout);
}

/* ---- CSV ---------------------------------------------------------------- */

#define CSV_COLUMNS (2 + 2 * MAX_VALUES)

static int csv_row(const struct diff_job *j, void *t, size_t row, struct mz_error *err)
{
	const char *state = state_of(j, row), *name = place(j, row);
	struct mz_cell cells[CSV_COLUMNS] = {{.known = true, .n = strlen(name), .s = name},
					     {.known = true, .n = strlen(state), .s = state}};

	for (size_t i = 0; i < 2 * j->nvalues; i++)
		cells[2 + i] = (struct mz_cell){.known = true,
						.n = get(j->rows, row, &j->values[i / 2], i % 2)};
	return mz_csv_ops.row(t, 0, cells, err);
}

/* Name, state, and two columns for each value that both recordings have. */
static int show_csv(struct diff_job *j)
{
	struct mz_column columns[CSV_COLUMNS] = {{"place", MZ_CELL_TEXT, false},
						 {"state", MZ_CELL_TEXT, false}};
	struct mz_output out = {.file.fd = -1};
	size_t n = 2 * j->nvalues, rows = mz_result_rows(j->rows);
	void *t = NULL;
	int ret;

	for (size_t i = 0; i < n; i++)
		columns[2 + i] =
			(struct mz_column){mz_result_key(j->rows, FIRST + i), MZ_CELL_U64, false};
	ret = mz_output_open(&out, NULL, false, &j->err);
	if (!ret) {
		t = mz_csv_ops.open(&out, &j->err);
		ret = t ? mz_csv_ops.begin(t, "diff", columns, 2 + n, &j->err) : -ENOMEM;
	}
	for (size_t i = 0; i < rows && !ret && (!j->limit || i < j->limit); i++)
		ret = csv_row(j, t, i, &j->err);
	mz_csv_ops.close(t);
	return mz_output_end(&out, ret, &j->err);
}

/* ---- the verb ----------------------------------------------------------- */

static int prepare(struct diff_job *j)
{
	j->limit = options_limit(&j->o->limit, j->o->csv ? 0 : DEFAULT_LIMIT);
	if (j->o->metric && !metric_find(j->o->metric))
		return MZ_EXIT_USAGE;
	return parse_budgets(j) < 0 ? trouble(&j->err) : 0;
}

/* A KMAP has no totals, and no losses. */
static int read_all(struct diff_job *j, size_t i)
{
	struct mz_totals *t = &j->totals[i];
	int ret = 0;

	t->size = sizeof(*t);
	if (mz_analysis_kind(j->of[i]) != MZ_RECORDING_KMAP)
		ret = mz_analysis_totals(j->of[i], t);
	if (ret < 0)
		j->err = *mz_analysis_error(j->of[i]);
	return ret;
}

static int choose_sort(struct diff_job *j)
{
	static const char *const usual[] = {"peak_bytes", "live_bytes", "bytes"};
	const struct mz_profile_value *v = NULL;

	if (j->o->metric) {
		v = mz_budget_value(j->o->metric, strlen(j->o->metric));
		j->sort = find_value(j, v->name);
	}
	for (size_t i = 0; !v && !j->sort && i < sizeof(usual) / sizeof(*usual); i++)
		j->sort = find_value(j, usual[i]);
	if (j->sort)
		return 0;
	v = v ? v : mz_budget_value("bytes", 5);
	return mz_fail(&j->err, EINVAL, "--metric %s: the recordings do not both contain %s",
		       v->name, v->title);
}

/* The files of a kernel end at several places. */
static struct mz_early_end end_of(struct mz_analysis *a, const struct mz_totals *t)
{
	struct mz_early_end e = {.files = (unsigned)mz_analysis_number(a, MZ_FILES_CUT)};

	if (mz_analysis_kind(a) == MZ_RECORDING_USER) {
		e.events = t->events;
		e.nothing = !t->events;
		e.ns = t->last_time - t->first_time;
	}
	return e;
}

static int make_tables(struct diff_job *j)
{
	struct mz_compare_options o = {.size = sizeof(o), .by = MZ_COMPARE_WHOLE};

	for (size_t i = 0; i < 2; i++) {
		int ret = read_all(j, i);

		if (ret < 0)
			return ret;
	}
	j->whole = mz_analysis_compare(j->of[0], j->of[1], &o, &j->err);
	progress_end(&j->progress[0]);
	progress_end(&j->progress[1]);
	if (!j->whole)
		return -EIO;
	find_values(j);
	if (choose_sort(j) < 0)
		return -EINVAL;
	o.by = j->o->by;
	o.sort = j->sort->name;
	j->rows = mz_analysis_compare(j->of[0], j->of[1], &o, &j->err);
	if (!j->rows)
		return -EIO;
	for (size_t i = 0; i < 2; i++)
		j->ends[i] = end_of(j->of[i], &j->totals[i]);
	return 0;
}

static int compare(struct diff_job *j)
{
	int ret = make_tables(j);

	if (!ret)
		ret = check_budgets(j);
	if (ret < 0)
		return ret;
	if (j->o->json && show_json(j) < 0)
		return mz_fail_memory(&j->err);
	if (j->o->csv && show_csv(j) < 0)
		return -EIO;
	if (!j->o->json && !j->o->csv)
		show_text(j);
	j->unwritten = fflush(stdout) != 0;
	return ret;
}

static void note_loss(const char *name, const struct mz_totals *t, const struct mz_early_end *end)
{
	char a[64];

	if (t->lost)
		console_note("%s: %s during recording; its figures are too small", name,
			     console_lost(a, t->lost));
	sampled_note(name, t->lost_by);
	early_end_note(name, end);
}

static int open_both(struct diff_job *j, char **paths)
{
	struct mz_analysis_options how = {.symbols = j->o->symbols, .want = MZ_WANT_SUMS};

	for (size_t i = 0; i < 2; i++) {
		j->names[i] = paths[i];
		j->of[i] = recording_analysis(paths[i], &how, &j->progress[i], &j->err);
		if (!j->of[i])
			return -EIO;
	}
	return 0;
}

static void job_free(struct diff_job *j)
{
	mz_result_free(j->whole);
	mz_result_free(j->rows);
	mz_analysis_close(j->of[0]);
	mz_analysis_close(j->of[1]);
	free(j->budgets);
	free(j->broken);
}

static int run(void *options, int argc, char **argv)
{
	struct diff_job j = {.o = options};
	int ret;

	if (argc != 2)
		return console_usage("give two recordings: the old one and the new one");
	ret = recording_one_stdin(argc, argv);
	if (!ret)
		ret = prepare(&j);
	if (!ret) {
		ret = open_both(&j, argv);
		if (!ret)
			ret = compare(&j);
		if (ret >= 0) {
			note_loss(argv[0], &j.totals[0], &j.ends[0]);
			note_loss(argv[1], &j.totals[1], &j.ends[1]);
		}
		ret = ret < 0	    ? trouble(&j.err)
		      : j.unwritten ? EXIT_TROUBLE
		      : ret	    ? EXIT_OVER
				    : EXIT_FINE;
	}
	job_free(&j);
	return ret;
}

MZ_CMD(diff, "diff", struct diff_opts, "A B", "compare two recordings and check memory budgets",
       .reads = true, .prints = true);
