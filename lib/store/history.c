// SPDX-License-Identifier: BSD-2-Clause
/* Find changes that exceed the noise of many runs: regressions, and the gate of CI. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pair_index.h"
#include "store/questions.h"
#include "store/statistics.h"

#define LEAST 5 /* runs on either side of a change */

/* Keeps the newest n entries. */
static void keep_newest(struct mz_store_entries *e, size_t n)
{
	struct mz_store_entries old = *e;

	if (!n || e->n <= n)
		return;
	old.n = e->n - n;
	old.list = malloc(old.n * sizeof(*old.list));
	if (!old.list)
		return;
	memcpy(old.list, e->list, old.n * sizeof(*old.list));
	memmove(e->list, e->list + old.n, n * sizeof(*e->list));
	e->n = n;
	mz_store_entries_free(&old);
}

static int names_of(struct mz_store *s, const uint64_t *ids, size_t n, struct mz_result_table *t,
		    size_t column, struct mz_error *err)
{
	uint32_t *names = calloc(n + 1, sizeof(*names));
	struct mz_tables *strings = mz_tables_new();
	size_t len;
	int ret = names && strings
			  ? mz_store_names(s, MZ_STORE_BY_SITE, ids, n, strings, names, err)
			  : mz_fail_memory(err);

	for (size_t i = 0; i < n && !ret; i++)
		mz_result_text(t, &t->cells[i * t->n_columns + column],
			       mz_tables_get_string(strings, names[i], &len));
	free(names);
	mz_tables_free(strings);
	return ret;
}

/* ---- regressions ----------------------------------------------------------------- */

#define REGRESSIONS(type)                                                                          \
	{                                                                                          \
		{"revision", "since", MZ_RESULT_TEXT}, {"runs_before", "runs", MZ_RESULT_COUNT},   \
			{"mean_before", "before", type}, {"deviation_before", "spread", type},     \
			{"runs_after", "runs", MZ_RESULT_COUNT}, {"mean_after", "after", type},    \
			{"deviation_after", "spread", type},                                       \
			{"change", "change", MZ_RESULT_SHARE},                                     \
			{"chance", "chance", MZ_RESULT_SHARE}, {"name", "name", MZ_RESULT_TEXT},   \
	}
static const struct mz_result_column regression_columns[2][10] = {REGRESSIONS(MZ_RESULT_COUNT),
								  REGRESSIONS(MZ_RESULT_BYTES)};

struct found_rise {
	uint64_t site;
	struct mz_rise rise;
	struct mz_spread before, after;
	double chance;
};

/* The largest change first. */
static int by_growth(const void *x, const void *y)
{
	const struct found_rise *a = x, *b = y;
	double p = a->after.mean - a->before.mean, q = b->after.mean - b->before.mean;

	if (p != q)
		return p < q ? 1 : -1;
	return a->site < b->site ? -1 : a->site > b->site;
}

/* A change begins with a revision: the first run of one may be the first after it. */
static bool *starts(const struct mz_store_entries *e)
{
	bool *may = calloc(e->n + 1, sizeof(*may));

	for (size_t i = 1; may && i < e->n; i++)
		may[i] = !*e->list[i].revision ||
			 strcmp(e->list[i].revision, e->list[i - 1].revision);
	return may;
}

/* With many series, one of them looks odd by chance alone: the probability of each is therefore
 * multiplied by the number of series. */
static bool look(const struct mz_store_matrix *m, size_t at, const bool *may,
		 const struct mz_store_noise *noise, struct found_rise *f)
{
	const uint64_t *x = m->list[at].values;

	f->site = m->list[at].site;
	if (!mz_find_rise(x, m->runs, may, LEAST, &f->rise))
		return false;
	f->chance = f->rise.chance * (double)m->n;
	f->chance = f->chance < 1 ? f->chance : 1;
	f->before = mz_spread_of(x, f->rise.at);
	f->after = mz_spread_of(x + f->rise.at, m->runs - f->rise.at);
	return f->chance < noise->chance && f->after.mean >= f->before.mean * (1 + noise->least);
}

/*
 * Means and spreads are shown beside the chance, so that a reader can judge the size of a change
 * and not only that there is one.
 */
static void put_found(struct mz_result_table *t, const struct found_rise *f,
		      const struct mz_store_entries *e)
{
	union mz_result_cell *row = mz_result_row(t);

	if (!row)
		return;
	mz_result_text(t, &row[0], e->list[f->rise.at].revision);
	row[1].number = f->before.n;
	row[2].number = (uint64_t)(f->before.mean + 0.5);
	row[3].number = (uint64_t)(f->before.deviation + 0.5);
	row[4].number = f->after.n;
	row[5].number = (uint64_t)(f->after.mean + 0.5);
	row[6].number = (uint64_t)(f->after.deviation + 0.5);
	row[7].share =
		f->before.mean > 0 ? (f->after.mean - f->before.mean) / f->before.mean : INFINITY;
	row[8].share = f->chance;
}

/* All sites are examined, but users read only a handful of rows. */
static int find_all(const struct mz_store_matrix *m, const struct mz_store_entries *e,
		    const struct mz_store_noise *noise, struct found_rise **found, size_t *n)
{
	bool *may = starts(e);

	*found = calloc(m->n + 1, sizeof(**found));
	for (size_t i = 0; may && *found && i < m->n; i++)
		*n += look(m, i, may, noise, &(*found)[*n]);
	free(may);
	if (*found && *n)
		qsort(*found, *n, sizeof(**found), by_growth);
	return may && *found ? 0 : -ENOMEM;
}

/* Whether the runs suffice for the chance that is wanted, and how many would. */
static int count_looked(const struct mz_store_matrix *m, const struct mz_store_entries *e,
			const struct mz_store_noise *noise, struct mz_store_looked *looked)
{
	bool *may = starts(e);
	double least = 1;

	*looked = (struct mz_store_looked){.runs = e->n, .series = m->n};
	for (size_t i = LEAST; may && i + LEAST <= e->n; i++) {
		double chance = may[i] ? mz_least_chance(i, e->n - i) : 1;

		looked->splits += may[i];
		least = chance < least ? chance : least;
	}
	looked->enough = looked->splits && least * (double)(looked->splits * m->n) < noise->chance;
	looked->needed =
		mz_runs_needed(noise->chance, (looked->splits ? looked->splits : 1) * m->n, LEAST);
	free(may);
	return may ? 0 : -ENOMEM;
}

int mz_store_answer_regressions(struct mz_store *s, const struct mz_profile_value *v,
				const struct mz_store_filter *f, const struct mz_store_noise *noise,
				struct mz_result_table *t, struct mz_store_looked *looked,
				struct mz_error *err)
{
	struct mz_store_filter newest = *f;
	struct mz_store_matrix m = {0};
	struct mz_store_entries e;
	struct found_rise *found = NULL;
	uint64_t *ids = NULL;
	size_t n = 0;
	int ret;

	newest.known |= v->has;
	ret = mz_store_list(s, &newest, &e, err);
	mz_result_init(t, "regressions", v->title, regression_columns[v->bytes], 10);
	if (!ret)
		keep_newest(&e, noise->runs);
	if (!ret)
		ret = mz_store_one_program(&e, err);
	if (e.n) /* what is older need not be read */
		newest.since = e.list[0].time;
	if (!ret)
		ret = mz_store_read_matrix(s, &newest, &e, v, NULL, &m, err);
	if (!ret && (find_all(&m, &e, noise, &found, &n) ||
		     (looked && count_looked(&m, &e, noise, looked))))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < n && !ret; i++)
		put_found(t, &found[i], &e);
	if (!ret && (t->failed || !(ids = calloc(n + 1, sizeof(*ids)))))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < n && !ret; i++)
		ids[i] = found[i].site;
	if (!ret)
		ret = names_of(s, ids, n, t, 9, err);
	free(ids);
	free(found);
	mz_store_matrix_free(&m);
	mz_store_entries_free(&e);
	return ret ? ret : t->failed ? mz_fail_memory(err) : 0;
}

/* ---- the gate ---------------------------------------------------------------------- */

static const struct mz_result_column gate_columns[] = {
	{"budget", "budget", MZ_RESULT_TEXT},
	{"over", "over", MZ_RESULT_TEXT},
	{"runs_before", "runs", MZ_RESULT_COUNT},
	{"mean_before", "history", MZ_RESULT_COUNT},
	{"deviation_before", "spread", MZ_RESULT_COUNT},
	{"runs_after", "runs", MZ_RESULT_COUNT},
	{"mean_after", "revision", MZ_RESULT_COUNT},
	{"change", "change", MZ_RESULT_SHARE},
	{"chance", "chance", MZ_RESULT_SHARE},
	{"name", "name", MZ_RESULT_TEXT},
};

struct gate {
	struct mz_store *s;
	const struct mz_store_entries *e;
	const struct mz_store_noise *noise;
	size_t split; /* history before it, the revision from it on */
	struct mz_result_table *t;
	struct mz_buf ids; /* of the rows */
};

/* Sorts the entries: the history, then the runs of the revision; what is newer than its first
 * run and of another revision is dropped. */
static size_t arrange(struct mz_store_entries *e, const char *revision)
{
	struct mz_store_entry *sorted = calloc(e->n + 1, sizeof(*sorted));
	struct mz_store_entries rest = {.list = calloc(e->n + 1, sizeof(*sorted))};
	size_t n = 0, split = 0;
	bool begun = false;

	if (!sorted || !rest.list) {
		free(sorted);
		free(rest.list);
		return 0;
	}
	for (size_t i = 0; i < e->n; i++) {
		begun |= !strcmp(e->list[i].revision, revision);
		if (!begun)
			sorted[n++] = e->list[i];
		else if (strcmp(e->list[i].revision, revision))
			rest.list[rest.n++] = e->list[i];
	}
	split = n;
	for (size_t i = 0; i < e->n; i++)
		if (!strcmp(e->list[i].revision, revision))
			sorted[n++] = e->list[i];
	mz_store_entries_free(&rest);
	free(e->list);
	e->list = sorted;
	e->n = n;
	return split;
}

/* The verdict of a budget on one series. */
struct judgement {
	struct mz_spread a, z;
	uint64_t from, to;
	double chance;
	bool over; /* and not by chance */
};

/* tests: how many are made at once. */
static struct judgement judge(const struct gate *g, const struct mz_budget *b,
			      const uint64_t *values, size_t tests)
{
	struct judgement j = {.a = mz_spread_of(values, g->split),
			      .z = mz_spread_of(values + g->split, g->e->n - g->split)};

	j.from = (uint64_t)(j.a.mean + 0.5);
	j.to = (uint64_t)(j.z.mean + 0.5);
	j.chance = mz_chance_t(&j.a, &j.z) * (double)tests;
	j.chance = j.chance < 1 ? j.chance : 1;
	/* only a limit on growth is weighed against the noise; other limits apply to the value
	 * itself */
	j.over = mz_budget_broken(b, j.from, j.to) &&
		 (b->op[0] != '>' || !b->change || j.chance < g->noise->chance);
	return j;
}

static void put_judgement(struct gate *g, const struct mz_budget *b, const struct judgement *j,
			  uint64_t site)
{
	union mz_result_cell *row = mz_result_row(g->t);
	const struct mz_spread *a = &j->a, *z = &j->z;

	if (!row)
		return;
	mz_result_text(g->t, &row[0], b->text);
	mz_result_text(g->t, &row[1], j->over ? "yes" : "no");
	row[2].number = a->n;
	row[3].number = a->n ? j->from : MZ_RESULT_UNKNOWN;
	row[4].number = a->n ? (uint64_t)(a->deviation + 0.5) : MZ_RESULT_UNKNOWN;
	row[5].number = z->n;
	row[6].number = j->to;
	row[7].share = a->mean > 0 ? (z->mean - a->mean) / a->mean : z->mean > 0 ? INFINITY : 0;
	row[8].share = j->chance;
	mz_buf_add(&g->ids, &site, sizeof(site));
}

/* Rows come in the order of the sites' numbers, whichever engine and shard they are from. */
static int by_site(const void *x, const void *y)
{
	const struct mz_store_series *a = x, *b = y;

	return a->site < b->site ? -1 : a->site > b->site;
}

/* A budget on any site: the sites that exceed it, or otherwise the one that is closest to it. */
static bool check_any(struct gate *g, const struct mz_budget *b, struct mz_store_matrix *m)
{
	double best = 0;
	size_t nearest = 0;
	bool over = false;

	if (m->n > 1)
		qsort(m->list + 1, m->n - 1, sizeof(*m->list), by_site);
	for (size_t i = 1; i < m->n; i++) {
		struct judgement j = judge(g, b, m->list[i].values, m->n - 1);
		double actual = mz_budget_actual(b, j.from, j.to);

		actual = b->op[0] == '<' ? -actual : actual;
		if (!nearest || actual > best) {
			nearest = i;
			best = actual;
		}
		if (j.over)
			put_judgement(g, b, &j, m->list[i].site);
		over |= j.over;
	}
	if (!over) {
		/* where there are no call sites, the whole stands for them */
		struct judgement j = judge(g, b, m->list[nearest].values, nearest ? m->n - 1 : 1);

		j.over = false;
		put_judgement(g, b, &j, m->list[nearest].site);
	}
	return over;
}

static int check_budget(struct gate *g, const struct mz_budget *b, const struct mz_store_filter *f,
			size_t *broken, struct mz_error *err)
{
	static const uint64_t whole;
	struct mz_store_matrix m = {0};
	struct judgement j;
	int ret = mz_store_read_matrix(g->s, f, g->e, b->value, b->any ? NULL : &whole, &m, err);

	if (!ret && b->any) {
		*broken += check_any(g, b, &m);
	} else if (!ret) {
		j = judge(g, b, m.list[0].values, 1);
		put_judgement(g, b, &j, 0);
		*broken += j.over;
	}
	mz_store_matrix_free(&m);
	return ret;
}

/* A limit on growth is one against the past; a limit in bytes or blocks needs none. */
static bool needs_history(const struct mz_budget *budgets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (budgets[i].change)
			return true;
	return false;
}

/*
 * Without a revision the newest one is judged, which is what a CI job wants. The history is what
 * came before its first run: later runs of other revisions may hold the same change.
 */
static int prepare(struct mz_store_entries *e, const char *revision, size_t most, size_t least,
		   struct mz_store_verdict *verdict, size_t *split, struct mz_error *err)
{
	const char *wanted = revision ? revision : e->n ? e->list[e->n - 1].revision : "";

	if (!e->n)
		return mz_fail(err, ENOENT, "the store has no such recordings");
	verdict->revision = strdup(wanted);
	verdict->program = strdup(e->n ? e->list[0].program : "");
	if (!verdict->revision || !verdict->program)
		return mz_fail_memory(err);
	*split = arrange(e, verdict->revision);
	verdict->runs = e->n - *split;
	if (!verdict->runs)
		return mz_fail(err, ENOENT, "the store has no recording of revision '%s'",
			       verdict->revision);
	if (*split > most && most) {
		keep_newest(e, most + verdict->runs);
		*split = most;
	}
	verdict->history = *split;
	if (*split < least)
		return mz_fail(err, ENODATA,
			       "before revision '%s' there are %zu recordings: a budget on growth "
			       "needs two; one such as 'peak > 1GiB' needs none",
			       verdict->revision, *split);
	return 0;
}

int mz_store_answer_gate(struct mz_store *s, const struct mz_budget *budgets, size_t n,
			 const struct mz_store_filter *f, const struct mz_store_noise *noise,
			 struct mz_store_verdict *verdict, struct mz_result_table *t,
			 struct mz_error *err)
{
	struct mz_store_filter all = *f;
	struct mz_store_entries e;
	struct gate g = {.s = s, .e = &e, .noise = noise, .t = t};
	int ret;

	all.revision = NULL;
	for (size_t i = 0; i < n; i++)
		all.known |= budgets[i].value->has;
	mz_result_init(t, "budgets", "Budgets", gate_columns,
		       sizeof(gate_columns) / sizeof(*gate_columns));
	ret = mz_store_list(s, &all, &e, err);
	if (!ret)
		ret = mz_store_one_program(&e, err);
	if (!ret)
		ret = prepare(&e, f->revision, noise->runs, needs_history(budgets, n) ? 2 : 0,
			      verdict, &g.split, err);
	for (size_t i = 0; i < n && !ret; i++)
		ret = check_budget(&g, &budgets[i], &all, &verdict->broken, err);
	if (!ret && (t->failed || g.ids.failed))
		ret = mz_fail_memory(err);
	if (!ret)
		ret = names_of(s, (const uint64_t *)(const void *)g.ids.data, t->rows, t, 9, err);
	mz_buf_free(&g.ids);
	mz_store_entries_free(&e);
	return ret;
}
