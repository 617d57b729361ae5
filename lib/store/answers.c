// SPDX-License-Identifier: BSD-2-Clause
/* Answer questions about a store with tables: what is in it, what takes most, what changed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pair_index.h"
#include "store/questions.h"
#include "store/statistics.h"

#define COLUMNS(c) (c), sizeof(c) / sizeof(*(c))

static int done(const struct mz_result_table *t, struct mz_error *err)
{
	return t->failed ? mz_fail_memory(err) : 0;
}

/* Always UTC: a store is queried from several time zones, and its days are UTC days as well. */
static const char *date_of(uint64_t time, char *buf, size_t size, const char *format)
{
	time_t t = (time_t)(time / 1000);
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, size, format, &tm))
		snprintf(buf, size, "?");
	return buf;
}

/* ---- the list --------------------------------------------------------------------- */

/* A value that the recording does not know is stored as 0, and must not be shown as one. */
static uint64_t value_of(const struct mz_store_entry *e, const char *name)
{
	const struct mz_profile_value *v = mz_profile_find_value(name);

	return e->known & v->has ? mz_profile_get(v, &e->all) : MZ_RESULT_UNKNOWN;
}

int mz_store_answer_list(const struct mz_store_entries *e, struct mz_result_table *t)
{
	static const struct mz_result_column columns[] = {
		{"digest", "digest", MZ_RESULT_TEXT},	 {"time", "time", MZ_RESULT_TEXT},
		{"program", "program", MZ_RESULT_TEXT},	 {"revision", "revision", MZ_RESULT_TEXT},
		{"host", "host", MZ_RESULT_TEXT},	 {"kind", "kind", MZ_RESULT_TEXT},
		{"labels", "labels", MZ_RESULT_TEXT},	 {"events", "events", MZ_RESULT_COUNT},
		{"lost", "lost", MZ_RESULT_COUNT},	 {"bytes", "total", MZ_RESULT_BYTES},
		{"peak_bytes", "peak", MZ_RESULT_BYTES}, {"live_bytes", "live", MZ_RESULT_BYTES},
		{"rows", "stacks", MZ_RESULT_COUNT},	 {"path", "file", MZ_RESULT_TEXT},
	};

	mz_result_init(t, "recordings", "Recordings", COLUMNS(columns));
	t->labels = 7; /* columns from 1 */
	for (size_t i = 0; i < e->n; i++) {
		const struct mz_store_entry *x = &e->list[i];
		union mz_result_cell *row = mz_result_row(t);
		char date[40];

		if (!row)
			break;
		mz_result_text(t, &row[0], x->digest);
		mz_result_text(t, &row[1],
			       date_of(x->time, date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ"));
		mz_result_text(t, &row[2], x->program);
		mz_result_text(t, &row[3], x->revision);
		mz_result_text(t, &row[4], x->host);
		mz_result_text(t, &row[5], x->kind);
		mz_result_text(t, &row[6], x->labels);
		row[7].number = x->events;
		row[8].number = x->lost;
		for (size_t c = 9; c < 12; c++)
			row[c].number = value_of(x, columns[c].key);
		row[12].number = x->rows;
		mz_result_text(t, &row[13], x->path);
	}
	return t->failed ? -ENOMEM : 0;
}

/* ---- top -------------------------------------------------------------------------------- */

/* The same columns, of bytes or of counts. */
#define TOP(type)                                                                                  \
	{                                                                                          \
		{"name", "name", MZ_RESULT_TEXT}, {"runs", "runs", MZ_RESULT_COUNT},               \
			{"mean", "mean", type}, {"max", "max", type}, {"total", "total", type},    \
			{"share", "share", MZ_RESULT_SHARE},                                       \
	}
static const struct mz_result_column top_columns[2][6] = {TOP(MZ_RESULT_COUNT),
							  TOP(MZ_RESULT_BYTES)};

/* Equal sums are ordered by key: the same question gives the same table on both engines. */
static int by_sum(const void *x, const void *y)
{
	const struct mz_store_sum *a = x, *b = y;

	if (a->sum != b->sum)
		return a->sum < b->sum ? 1 : -1;
	return MZ_ORDER(a->key, b->key);
}

/* Programs, revisions and hosts are columns of the list. Runs are those that know the value. */
static int sum_entries(const struct mz_store_entries *e, enum mz_store_by by,
		       const struct mz_profile_value *v, struct mz_tables *names,
		       struct mz_store_sums *sums)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct mz_store_entry *x = &e->list[i];
		const char *name = by == MZ_STORE_BY_PROGRAM	? x->program
				   : by == MZ_STORE_BY_REVISION ? x->revision
								: x->host;
		uint32_t id = mz_tables_string(names, name, strlen(name));
		bool known = x->known & v->has;
		uint64_t value = known ? mz_profile_get(v, &x->all) : 0;
		struct mz_store_sum *to;

		if (!id || !mz_array_room((void **)&sums->list, &sums->cap, id - 1, sizeof(*to)))
			return -ENOMEM;
		to = &sums->list[id - 1];
		to->key = id;
		to->runs += known;
		to->sum += value;
		to->max = value > to->max ? value : to->max;
		sums->n = id > sums->n ? id : sums->n;
	}
	return 0;
}

/*
 * Means are of whole numbers and rounded half up, as the model in the tests does it: no engine's
 * own division decides.
 */
static void put_top(struct mz_result_table *t, const struct mz_store_sum *x, const char *name,
		    size_t runs, uint64_t all)
{
	union mz_result_cell *row = mz_result_row(t);

	if (!row)
		return;
	mz_result_text(t, &row[0], name);
	row[1].number = x->runs;
	row[2].number = runs ? (x->sum + runs / 2) / runs : 0;
	row[3].number = x->max;
	row[4].number = x->sum;
	row[5].share = all ? (double)x->sum / (double)all : 0;
	for (size_t i = 2; i < 5 && !x->runs; i++)
		row[i].number = MZ_RESULT_UNKNOWN;
}

/* Only what is shown gets a name: a store has millions of stacks, and the table a few dozen. */
static int name_sums(struct mz_store *s, enum mz_store_by by, const struct mz_store_sums *sums,
		     size_t n, struct mz_tables *strings, uint32_t *names, struct mz_error *err)
{
	uint64_t *ids = calloc(n + 1, sizeof(*ids));
	int ret = 0;

	if (!ids)
		return mz_fail_memory(err);
	for (size_t i = 0; i < n; i++)
		ids[i] = sums->list[i].key;
	if (by < MZ_STORE_BY_PROGRAM)
		ret = mz_store_names(s, by, ids, n, strings, names, err);
	for (size_t i = 0; by >= MZ_STORE_BY_PROGRAM && i < n; i++)
		names[i] = (uint32_t)ids[i];
	free(ids);
	return ret;
}

/* The mean is over all recordings in question, including those without the row. */
int mz_store_answer_top(struct mz_store *s, enum mz_store_by by, const struct mz_profile_value *v,
			const struct mz_store_filter *f, size_t limit, struct mz_result_table *t,
			struct mz_error *err)
{
	struct mz_tables *strings = mz_tables_new();
	struct mz_store_filter of = *f;
	struct mz_store_sums sums = {0};
	struct mz_store_entries e;
	uint32_t *names = NULL;
	uint64_t all = 0;
	size_t n = 0, len;
	int ret;

	/* sums by program, revision and host count the runs that know the value by themselves */
	of.known |= by < MZ_STORE_BY_PROGRAM ? v->has : 0;
	ret = mz_store_list(s, &of, &e, err);
	mz_result_init(t, "top", v->title, top_columns[v->bytes], 6);
	if (!ret && !strings)
		ret = mz_fail_memory(err);
	if (!ret && by >= MZ_STORE_BY_PROGRAM)
		ret = sum_entries(&e, by, v, strings, &sums) ? mz_fail_memory(err) : 0;
	else if (!ret)
		ret = mz_store_sum_by(s, by, v, &of, &sums, err);
	if (!ret && sums.index)
		/* only the engine counts by its index; sums of entries are counted already */
		sums.n = sums.index->count;
	for (size_t i = 0; i < sums.n && !ret; i++)
		all += sums.list[i].sum;
	if (!ret && sums.n)
		qsort(sums.list, sums.n, sizeof(*sums.list), by_sum);
	n = limit && limit < sums.n ? limit : sums.n;
	names = calloc(n + 1, sizeof(*names));
	if (!ret)
		ret = names ? name_sums(s, by, &sums, n, strings, names, err) : mz_fail_memory(err);
	for (size_t i = 0; i < n && !ret; i++)
		put_top(t, &sums.list[i], mz_tables_get_string(strings, names[i], &len),
			by < MZ_STORE_BY_PROGRAM ? e.n : sums.list[i].runs, all);
	free(names);
	mz_store_sums_free(&sums);
	mz_store_entries_free(&e);
	mz_tables_free(strings);
	return ret ? ret : done(t, err);
}

/* ---- trend ------------------------------------------------------------------------------- */

#define TREND(type)                                                                                \
	{                                                                                          \
		{"step", "", MZ_RESULT_TEXT}, {"time", "since", MZ_RESULT_TEXT},                   \
			{"runs", "runs", MZ_RESULT_COUNT}, {"mean", "mean", type},                 \
			{"deviation", "spread", type}, {"min", "min", type}, {"max", "max", type}, \
	}
static const struct mz_result_column trend_columns[2][7] = {TREND(MZ_RESULT_COUNT),
							    TREND(MZ_RESULT_BYTES)};

/* What makes two runs one step of the trend. */
static const char *step_of(const struct mz_store_entry *e, enum mz_store_step step, char *buf,
			   size_t size)
{
	if (step == MZ_STORE_STEP_REVISION)
		return e->revision;
	return step == MZ_STORE_STEP_DAY ? date_of(e->time, buf, size, "%Y-%m-%d") : e->digest;
}

/* One step: all runs with its name, wherever they are in time. */
static void put_step(struct mz_result_table *t, const struct mz_store_entries *e,
		     const uint64_t *values, enum mz_store_step step, size_t first, bool *shown,
		     uint64_t *own)
{
	char name[64], other[64], date[40];
	const char *what = step_of(&e->list[first], step, name, sizeof(name));
	union mz_result_cell *row = mz_result_row(t);
	uint64_t min = UINT64_MAX, max = 0;
	struct mz_spread spread;
	size_t n = 0;

	/* entries are in the order of time, but a revision may be measured again later */
	for (size_t i = first; i < e->n; i++) {
		if (shown[i] || strcmp(step_of(&e->list[i], step, other, sizeof(other)), what))
			continue;
		shown[i] = true;
		own[n++] = values[i];
		min = values[i] < min ? values[i] : min;
		max = values[i] > max ? values[i] : max;
	}
	if (!row)
		return;
	spread = mz_spread_of(own, n);
	mz_result_text(t, &row[0], what);
	mz_result_text(t, &row[1],
		       date_of(e->list[first].time, date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ"));
	row[2].number = n;
	row[3].number = (uint64_t)(spread.mean + 0.5);
	row[4].number = (uint64_t)(spread.deviation + 0.5);
	row[5].number = min;
	row[6].number = max;
}

/* One site, or an error that names those in question. Two functions may have the same name, and an
 * answer that adds them up would be of neither. */
static int one_site(struct mz_store *s, const char *text, uint64_t *site, struct mz_error *err)
{
	uint64_t *ids = NULL;
	size_t n = 0, len;
	int ret = 0;

	*site = 0;
	if (!*text)
		return 0;
	ret = mz_store_find_site(s, text, &ids, &n, err);
	if (!ret && !n)
		ret = mz_fail(err, ENOENT,
			      "%s: no call site has this name: see 'memorizer store top'", text);
	if (!ret && n > 1) {
		struct mz_tables *strings = mz_tables_new();
		uint32_t names[2];

		if (strings && !mz_store_names(s, MZ_STORE_BY_SITE, ids, 2, strings, names, NULL))
			ret = mz_fail(
				err, EINVAL,
				"%s: %zu functions have this name; say which, as in '%s' or '%s'",
				text, n, mz_tables_get_string(strings, names[0], &len),
				mz_tables_get_string(strings, names[1], &len));
		else
			ret = mz_fail_memory(err);
		mz_tables_free(strings);
	}
	if (!ret)
		*site = ids[0];
	free(ids);
	return ret;
}

/* A run without the site counts with 0: a site that disappears is a change, not a gap. */
int mz_store_answer_trend(struct mz_store *s, const char *site, const struct mz_profile_value *v,
			  const struct mz_store_filter *f, enum mz_store_step step,
			  struct mz_result_table *t, struct mz_error *err)
{
	struct mz_store_filter of = *f;
	struct mz_store_matrix m = {0};
	struct mz_store_entries e;
	uint64_t id = 0, *own = NULL;
	bool *shown = NULL;
	int ret;

	of.known |= v->has;
	ret = mz_store_list(s, &of, &e, err);
	mz_result_init(t, "trend", v->title, trend_columns[v->bytes], 7);
	if (!ret)
		ret = mz_store_one_program(&e, err);
	if (!ret)
		ret = one_site(s, site, &id, err);
	if (!ret)
		ret = mz_store_read_matrix(s, &of, &e, v, &id, &m, err);
	own = calloc(e.n + 1, sizeof(*own));
	shown = calloc(e.n + 1, sizeof(*shown));
	if (!ret && (!own || !shown))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < e.n && !ret; i++) {
		uint32_t at = mz_pair_index_get(m.index, id, 0);

		if (shown[i])
			continue;
		if (at == MZ_PAIR_INDEX_NONE)
			ret = mz_fail(err, ENOENT, "%s: in none of these recordings", site);
		else
			put_step(t, &e, m.list[at].values, step, i, shown, own);
	}
	free(own);
	free(shown);
	mz_store_matrix_free(&m);
	mz_store_entries_free(&e);
	return ret ? ret : done(t, err);
}

/* ---- diff ---------------------------------------------------------------------------------- */

#define DIFF(type)                                                                                 \
	{                                                                                          \
		{"state", "state", MZ_RESULT_TEXT}, {"runs_a", "runs", MZ_RESULT_COUNT},           \
			{"runs_b", "runs", MZ_RESULT_COUNT}, {"sum_a", "sum", type},               \
			{"sum_b", "sum", type}, {"mean_a", "before", type},                        \
			{"mean_b", "after", type}, {"change", "change", MZ_RESULT_SHARE},          \
			{"name", "name", MZ_RESULT_TEXT},                                          \
	}
static const struct mz_result_column diff_columns[2][9] = {DIFF(MZ_RESULT_COUNT),
							   DIFF(MZ_RESULT_BYTES)};

struct sum_pair {
	uint64_t key;
	struct mz_store_sum a, b;
};

struct pairs {
	struct sum_pair *list;
	size_t n, cap;
	size_t runs_a, runs_b;
};

/* Revisions have different numbers of runs, so means are compared and never sums. */
static double mean(uint64_t sum, size_t runs)
{
	return runs ? (double)sum / (double)runs : 0;
}

static double change_of(const struct sum_pair *p, const struct pairs *all)
{
	return fabs(mean(p->b.sum, all->runs_b) - mean(p->a.sum, all->runs_a));
}

static int by_change(const void *x, const void *y, void *arg)
{
	const struct sum_pair *p = x, *q = y;
	double a = change_of(p, arg), b = change_of(q, arg);

	if (a != b)
		return a < b ? 1 : -1;
	return MZ_ORDER(p->key, q->key);
}

/*
 * Both sides by key; a key that one side lacks keeps runs of 0 there, which distinguishes a new
 * stack from one that grew.
 */
static int join(struct pairs *all, const struct mz_store_sums *a, const struct mz_store_sums *b)
{
	struct mz_pair_index index = {0};
	int ret = 0;

	for (size_t i = 0; i < a->index->count + b->index->count && !ret; i++) {
		bool second = i >= a->index->count;
		const struct mz_store_sum *x = second ? &b->list[i - a->index->count] : &a->list[i];
		uint32_t at = mz_pair_index_put(&index, x->key, 0);

		if (at == MZ_PAIR_INDEX_NONE ||
		    !mz_array_room((void **)&all->list, &all->cap, at, sizeof(*all->list))) {
			ret = -ENOMEM;
			break;
		}
		all->list[at].key = x->key;
		*(second ? &all->list[at].b : &all->list[at].a) = *x;
	}
	all->n = index.count;
	mz_pair_index_deinit(&index);
	return ret;
}

/* Compared as fractions of whole numbers: two means that are equal must not differ by rounding. */
static const char *state_of(const struct sum_pair *p, const struct pairs *all)
{
	__extension__ typedef unsigned __int128 wide;
	wide a = (wide)p->a.sum * all->runs_b, b = (wide)p->b.sum * all->runs_a;

	if (!p->a.runs)
		return "new";
	if (!p->b.runs)
		return "gone";
	return b > a ? "grown" : b < a ? "shrunk" : "same";
}

static void put_pair(struct mz_result_table *t, const struct pairs *all, const struct sum_pair *p,
		     const char *name)
{
	union mz_result_cell *row = mz_result_row(t);
	double a = mean(p->a.sum, all->runs_a), b = mean(p->b.sum, all->runs_b);

	if (!row)
		return;
	mz_result_text(t, &row[0], state_of(p, all));
	row[1].number = p->a.runs;
	row[2].number = p->b.runs;
	row[3].number = p->a.sum;
	row[4].number = p->b.sum;
	row[5].number = (uint64_t)(a + 0.5);
	row[6].number = (uint64_t)(b + 0.5);
	/* what was not there before has grown without bound */
	row[7].share = a > 0 ? (b - a) / a : INFINITY;
	mz_result_text(t, &row[8], name);
}

/* The recordings of one side, of the program that all others are of. */
static int read_side(struct mz_store *s, const struct mz_store_filter *f, char **program,
		     size_t *runs, struct mz_error *err)
{
	struct mz_store_entries e;
	int ret = mz_store_list(s, f, &e, err);

	*runs = e.n;
	if (!ret && !e.n)
		ret = mz_fail(err, ENOENT, "%s: the store has no recording of this revision",
			      f->revision);
	if (!ret)
		ret = mz_store_one_program(&e, err);
	if (!ret && *program && strcmp(*program, e.list[0].program))
		ret = mz_fail(err, EINVAL,
			      "%s has recordings of '%s' alone, and the other revision of '%s': "
			      "choose one with --program",
			      f->revision, e.list[0].program, *program);
	if (!ret && !*program && !(*program = strdup(e.list[0].program)))
		ret = mz_fail_memory(err);
	mz_store_entries_free(&e);
	return ret;
}

/* Both sides must be of one program and know the value; otherwise a difference of programs would
 * look like a change. */
static int read_pairs(struct mz_store *s, const char *const revisions[2], enum mz_store_by by,
		      const struct mz_profile_value *v, const struct mz_store_filter *f,
		      struct pairs *all, struct mz_error *err)
{
	struct mz_store_sums sums[2] = {{0}, {0}};
	size_t runs[2] = {0};
	char *program = NULL;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		struct mz_store_filter one = *f;

		one.revision = revisions[i];
		one.known |= v->has;
		ret = read_side(s, &one, &program, &runs[i], err);
		if (!ret)
			ret = mz_store_sum_by(s, by, v, &one, &sums[i], err);
	}
	free(program);
	all->runs_a = runs[0];
	all->runs_b = runs[1];
	if (!ret && join(all, &sums[0], &sums[1]))
		ret = mz_fail_memory(err);
	mz_store_sums_free(&sums[0]);
	mz_store_sums_free(&sums[1]);
	return ret;
}

/* Rows that did not change come last and are left out. */
static size_t count_changed(const struct pairs *all)
{
	size_t n = 0;

	while (n < all->n && change_of(&all->list[n], all) > 0)
		n++;
	return n;
}

/* Sorted by the change of the mean, so the limit cuts what matters least. */
int mz_store_answer_diff(struct mz_store *s, const char *a, const char *b, enum mz_store_by by,
			 const struct mz_profile_value *v, const struct mz_store_filter *f,
			 size_t limit, struct mz_result_table *t, struct mz_error *err)
{
	struct mz_tables *strings = mz_tables_new();
	const char *const revisions[2] = {a, b};
	struct pairs all = {0};
	uint64_t *ids = NULL;
	uint32_t *names = NULL;
	size_t n = 0, len;
	int ret = read_pairs(s, revisions, by, v, f, &all, err);

	mz_result_init(t, "changes", v->title, diff_columns[v->bytes], 9);
	if (all.n)
		qsort_r(all.list, all.n, sizeof(*all.list), by_change, &all);
	n = count_changed(&all);
	n = limit && limit < n ? limit : n;
	ids = calloc(n + 1, sizeof(*ids));
	names = calloc(n + 1, sizeof(*names));
	if (!ret && (!ids || !names || !strings))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < n && !ret; i++)
		ids[i] = all.list[i].key;
	if (!ret)
		ret = mz_store_names(s, by, ids, n, strings, names, err);
	for (size_t i = 0; i < n && !ret; i++)
		put_pair(t, &all, &all.list[i], mz_tables_get_string(strings, names[i], &len));
	free(ids);
	free(names);
	free(all.list);
	mz_tables_free(strings);
	return ret ? ret : done(t, err);
}
