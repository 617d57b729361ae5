// SPDX-License-Identifier: BSD-2-Clause
/* Show what changed between two recordings and check memory budgets. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/lost.h"
#include "cmds/recording.h"
#include "export/table.h"

/* As diff(1) has it: 1 is the answer "over the budget", not a failure. */
enum { EXIT_FINE, EXIT_OVER, EXIT_TROUBLE };

#define DEFAULT_LIMIT 10

static const char *const bys[] = {"function", "line", "stack", "file", "module", "object", NULL};

struct opts {
	struct mz_opt_list fail_if;
	const char *sort;
	struct mz_opt_limit limit;
	const char *symbols;
	unsigned by;
	bool json;
	bool csv;
};

static const struct mz_opt opts[] = {
	MZ_OPT(0, "fail-if", "BUDGET", MZ_OPT_LIST, struct opts, fail_if,
	       "exit with 1 if the condition holds: 'peak > +5%', 'live_blocks > 1000', 'any peak "
	       "> +1MiB'; may be repeated, or separated by commas"),
	MZ_OPT_ONE_OF(0, "by", "WHAT", struct opts, by, bys,
		      "match by function (default), line, stack, file, module, or object (KMAPs)"),
	MZ_OPT(0, "sort", "METRIC", MZ_OPT_STR, struct opts, sort,
	       "compare by peak (default), total, live, blocks, temporary, ..."),
	MZ_OPT_ROWS(0, struct opts, limit, "rows of a list (10); 0 = all"),
	RECORDING_SYMBOLS(struct opts, symbols),
	MZ_OPT_JSON(struct opts, json),
	MZ_OPT(0, "csv", NULL, MZ_OPT_FLAG, struct opts, csv, "print CSV, one line per call site"),
	{0},
};

struct job {
	const struct opts *o;
	struct mz_recording a, b;
	struct progress progress[2];
	struct mz_diff d;
	const struct mz_profile_value *sort;
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

static const char *state_of(const struct mz_diff_row *r, const struct mz_profile_value *v)
{
	uint64_t a = mz_profile_get(v, &r->a), b = mz_profile_get(v, &r->b);

	if (!r->in_a)
		return "appeared";
	if (!r->in_b)
		return "gone";
	return b > a ? "grew" : b < a ? "shrank" : "same";
}

/* ---- budgets ------------------------------------------------------------ */

static int parse_budgets(struct job *j)
{
	for (unsigned i = 0; i < j->o->fail_if.n; i++) {
		const char *p = j->o->fail_if.value[i];

		do {
			struct mz_budget *more =
				realloc(j->budgets, (j->nbudgets + 1) * sizeof(*more));

			if (!more)
				return mz_fail_memory(&j->err);
			j->budgets = more;
			if (mz_budget_parse(&more[j->nbudgets], &p, &j->err) < 0)
				return -EINVAL;
			j->nbudgets++;
		} while (*p);
	}
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

/* How many are broken; -errno: one cannot be told. */
static int check_budgets(struct job *j)
{
	int n = 0;

	for (size_t i = 0; i < j->nbudgets; i++) {
		const struct mz_budget *b = &j->budgets[i];

		if (!(j->d.has & b->value->has))
			return mz_fail(&j->err, EINVAL,
				       "'%s': the recordings do not both contain %s", b->text,
				       b->value->title);
		for (size_t k = 0; k < (b->any ? j->d.n : 1); k++) {
			const struct mz_diff_row *r = &j->d.rows[k];
			uint64_t from = mz_profile_get(b->value, b->any ? &r->a : &j->d.a);
			uint64_t to = mz_profile_get(b->value, b->any ? &r->b : &j->d.b);

			if (!mz_budget_broken(b, from, to))
				continue;
			tell_broken(b, b->any ? r->name : NULL, from, to);
			j->broken[i] = true;
		}
		n += j->broken[i];
	}
	return n;
}

/* ---- text --------------------------------------------------------------- */

static char *value_text(char *buf, const struct mz_profile_value *v, uint64_t x)
{
	return v->bytes ? console_bytes(buf, x) : console_count(buf, x);
}

/* "+1.2 MiB" */
static char *change_text(char *buf, const struct mz_profile_value *v, uint64_t a, uint64_t b)
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

static void show_totals(const struct job *j)
{
	char a[40], b[40], c[40], s[40];

	printf("%-16s %14s %14s %14s\n", "", "A", "B", "change");
	for (size_t i = 0; i < mz_profile_nvalues; i++) {
		const struct mz_profile_value *v = &mz_profile_values[i];
		uint64_t x = mz_profile_get(v, &j->d.a), y = mz_profile_get(v, &j->d.b);

		if (!(j->d.has & v->has) || !strncmp(v->name, "max_", 4) || (!x && !y))
			continue;
		printf("%-16s %14s %14s %14s %9s\n", v->name, value_text(a, v, x),
		       value_text(b, v, y), change_text(c, v, x, y),
		       share_text(s, sizeof(s), x, y));
	}
}

static void show_rows(const struct job *j, const char *state, const char *title)
{
	char a[40], b[40], c[40], s[40], name[200];
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < j->d.n; i++) {
		const struct mz_diff_row *r = &j->d.rows[i];
		uint64_t x = mz_profile_get(j->sort, &r->a), y = mz_profile_get(j->sort, &r->b);

		if (strcmp(state_of(r, j->sort), state) || x == y)
			continue;
		if (j->limit && shown == j->limit) {
			left++;
			continue;
		}
		if (!shown++)
			printf("\n%s, by %s\n", title, j->sort->title);
		printf("  %12s %9s %12s -> %-12s %s\n", change_text(c, j->sort, x, y),
		       share_text(s, sizeof(s), x, y), value_text(a, j->sort, x),
		       value_text(b, j->sort, y),
		       mz_printable(name, sizeof(name), r->name, strlen(r->name)));
	}
	if (left)
		printf("  and %zu more; --limit 0 shows all\n", left);
}

static void show_text(const struct job *j)
{
	show_totals(j);
	show_rows(j, "appeared", "Appeared");
	show_rows(j, "grew", "Grew");
	show_rows(j, "shrank", "Shrank");
	show_rows(j, "gone", "Gone");
}

/* ---- JSON --------------------------------------------------------------- */

static void json_sums(struct mz_json *out, const struct job *j, const struct mz_profile_sum *a,
		      const struct mz_profile_sum *b)
{
	for (size_t i = 0; i < mz_profile_nvalues; i++) {
		const struct mz_profile_value *v = &mz_profile_values[i];

		if (!(j->d.has & v->has))
			continue;
		mz_json_object(out, v->name);
		mz_json_u64(out, "a", mz_profile_get(v, a));
		mz_json_u64(out, "b", mz_profile_get(v, b));
		mz_json_end_object(out);
	}
}

static int show_json(const struct job *j)
{
	struct mz_buf b = {0};
	struct mz_json out = {.out = &b};
	size_t shown = 0;

	mz_json_object(&out, NULL);
	mz_json_str(&out, "a", j->a.name);
	mz_json_str(&out, "b", j->b.name);
	mz_json_str(&out, "by", bys[j->o->by]);
	mz_json_str(&out, "sort", j->sort->name);
	mz_json_object(&out, "lost");
	lost_json(&out, "a", j->a.profile.lost_by);
	lost_json(&out, "b", j->b.profile.lost_by);
	mz_json_end_object(&out);
	mz_json_object(&out, "totals");
	json_sums(&out, j, &j->d.a, &j->d.b);
	mz_json_end_object(&out);
	mz_json_u64(&out, "places", j->d.n);
	mz_json_array(&out, "changes");
	for (size_t i = 0; i < j->d.n && (!j->limit || shown < j->limit); i++) {
		const struct mz_diff_row *r = &j->d.rows[i];

		if (!strcmp(state_of(r, j->sort), "same"))
			continue;
		mz_json_object(&out, NULL);
		mz_json_str(&out, "place", r->name);
		mz_json_str(&out, "state", state_of(r, j->sort));
		json_sums(&out, j, &r->a, &r->b);
		mz_json_end_object(&out);
		shown++;
	}
	mz_json_end_array(&out);
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

#define CSV_COLUMNS 32

/* place, state, and two columns for each value that both have. */
static int show_csv(struct job *j)
{
	struct mz_column columns[CSV_COLUMNS] = {{"place", MZ_CELL_TEXT, false},
						 {"state", MZ_CELL_TEXT, false}};
	char names[CSV_COLUMNS][32];
	const struct mz_profile_value *values[CSV_COLUMNS];
	struct mz_output out = {.file.fd = -1};
	void *t = NULL;
	size_t n = 0, shown = 0;
	int ret;

	for (size_t i = 0; i < mz_profile_nvalues && 2 * n + 4 <= CSV_COLUMNS; i++)
		if (j->d.has & mz_profile_values[i].has)
			values[n++] = &mz_profile_values[i];
	for (size_t i = 0; i < 2 * n; i++) {
		snprintf(names[i], sizeof(names[i]), "%s_%c", values[i / 2]->name,
			 i % 2 ? 'b' : 'a');
		columns[2 + i] = (struct mz_column){names[i], MZ_CELL_U64, false};
	}
	ret = mz_output_open(&out, NULL, false, &j->err);
	if (!ret) {
		t = mz_csv_ops.open(&out, &j->err);
		ret = t ? mz_csv_ops.begin(t, "diff", columns, 2 + 2 * n, &j->err) : -ENOMEM;
	}
	for (size_t i = 0; i < j->d.n && !ret && (!j->limit || shown < j->limit); i++, shown++) {
		const struct mz_diff_row *r = &j->d.rows[i];
		const char *state = state_of(r, j->sort);
		struct mz_cell cells[CSV_COLUMNS] = {
			{.known = true, .n = strlen(r->name), .s = r->name},
			{.known = true, .n = strlen(state), .s = state}};

		for (size_t k = 0; k < 2 * n; k++)
			cells[2 + k] = (struct mz_cell){
				.known = true,
				.n = mz_profile_get(values[k / 2], k % 2 ? &r->b : &r->a)};
		ret = mz_csv_ops.row(t, 0, cells, &j->err);
	}
	mz_csv_ops.close(t);
	if (!ret)
		ret = mz_output_commit(&out, &j->err);
	else
		mz_output_abort(&out);
	return ret;
}

/* ---- the verb ----------------------------------------------------------- */

static int prepare(struct job *j)
{
	j->limit = options_limit(&j->o->limit, j->o->csv ? 0 : DEFAULT_LIMIT);
	if (j->o->sort) {
		j->sort = mz_diff_value(j->o->sort, strlen(j->o->sort));
		if (!j->sort)
			return console_usage(
				"--sort: no metric '%s': peak, total, live, blocks, "
				"peak_blocks, live_blocks, temporary, waste, reads, writes, ...",
				j->o->sort);
	}
	return parse_budgets(j) < 0 ? trouble(&j->err) : 0;
}

static const struct mz_profile *profile_of(struct job *j, struct mz_recording *r, int i)
{
	const struct mz_profile *p = mz_recording_profile(r, &j->err);

	progress_end(&j->progress[i]);
	return p;
}

static int compare(struct job *j)
{
	const struct mz_profile *a = profile_of(j, &j->a, 0);
	const struct mz_profile *b = a ? profile_of(j, &j->b, 1) : NULL;
	int ret = b ? mz_diff_make(&j->d, a, b, j->o->by, &j->err) : -EIO;

	if (ret < 0)
		return ret;
	if (!j->sort)
		j->sort = mz_profile_find_value(j->d.has & MZ_PROFILE_PEAK   ? "peak_bytes"
						: j->d.has & MZ_PROFILE_LIVE ? "live_bytes"
									     : "bytes");
	if (!(j->d.has & j->sort->has))
		return mz_fail(&j->err, EINVAL, "--sort %s: the recordings do not both contain %s",
			       j->sort->name, j->sort->title);
	mz_diff_sort(&j->d, j->sort);
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

static void note_loss(const struct mz_recording *r)
{
	char a[32];

	if (r->profile.lost)
		console_note("%s: %s events were lost during recording; its figures are too small",
			     r->name, console_count(a, r->profile.lost));
	sampled_note(r->name, r->profile.lost_by);
}

static int run(void *options, int argc, char **argv)
{
	struct job j = {.o = options};
	int ret;

	if (argc != 2)
		return console_usage("give two recordings: the old one and the new one");
	ret = prepare(&j);
	if (!ret) {
		struct mz_recording_options how = {.symbols = j.o->symbols};

		ret = recording_open(&j.a, &argv[0], 1, &how, &j.progress[0], &j.err);
		if (!ret)
			ret = recording_open(&j.b, &argv[1], 1, &how, &j.progress[1], &j.err);
		if (!ret)
			ret = compare(&j);
		if (ret >= 0) {
			note_loss(&j.a);
			note_loss(&j.b);
		}
		ret = ret < 0	    ? trouble(&j.err)
		      : j.unwritten ? EXIT_TROUBLE
		      : ret	    ? EXIT_OVER
				    : EXIT_FINE;
	}
	mz_diff_deinit(&j.d);
	mz_recording_close(&j.a);
	mz_recording_close(&j.b);
	free(j.budgets);
	free(j.broken);
	return ret;
}

MZ_CMD(diff, "diff", struct opts, "A B", "compare two recordings and check memory budgets",
       .reads = true, .prints = true);
