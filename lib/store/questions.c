// SPDX-License-Identifier: BSD-2-Clause
/* Read recordings, sums and series out of a store of either engine. */
#include "store/questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pair_index.h"

/* ---- which recordings ----------------------------------------------------------- */

/* Each engine quotes in its own way; a program may have any name. */
static void equals(const struct mz_store *s, struct mz_buf *b, const char *column, const char *text)
{
	if (!text)
		return;
	mz_buf_printf(b, " AND %s = ", column);
	mz_store_quote(s, b, text, strlen(text));
}

/*
 * A label is matched with the line breaks around it, so that "os=linux" does not find
 * "os=linux2".
 */
void mz_store_where(const struct mz_store *s, struct mz_buf *b, const struct mz_store_filter *f)
{
	mz_buf_str(b, "WHERE 1 = 1");
	equals(s, b, "program", f->program);
	equals(s, b, "revision", f->revision);
	equals(s, b, "host", f->host);
	if (f->since)
		mz_buf_printf(b, " AND time >= %llu", (unsigned long long)f->since);
	if (f->until)
		mz_buf_printf(b, " AND time < %llu", (unsigned long long)f->until);
	/* by division: the engines have no common operator for bits */
	for (uint32_t bit = 1; bit && bit <= f->known; bit <<= 1)
		if (f->known & bit)
			mz_buf_printf(b, " AND known %% %u >= %u", 2 * bit, bit);
	for (size_t i = 0; i < f->nlabels; i++) {
		struct mz_buf line = {0};

		mz_buf_printf(&line, "\n%s\n", f->labels[i]);
		mz_buf_printf(b, " AND %s(labels, ", s->ops->find);
		b->failed |= line.failed;
		mz_store_quote(s, b, line.data, line.len);
		mz_buf_str(b, ") > 0");
		mz_buf_free(&line);
	}
}

/* ---- the list --------------------------------------------------------------------- */

/* Columns of the list in the order of the query. The answer of an engine has no names, so both the
 * query and its reader go by this list. */
static const struct {
	const char *name;
	size_t offset;
	bool text;
} columns[] = {
	{"digest", offsetof(struct mz_store_entry, digest), true},
	{"program", offsetof(struct mz_store_entry, program), true},
	{"revision", offsetof(struct mz_store_entry, revision), true},
	{"host", offsetof(struct mz_store_entry, host), true},
	{"kind", offsetof(struct mz_store_entry, kind), true},
	{"source", offsetof(struct mz_store_entry, source), true},
	{"path", offsetof(struct mz_store_entry, path), true},
	{"labels", offsetof(struct mz_store_entry, labels), true},
	{"clock", offsetof(struct mz_store_entry, clock), true},
	{"recording", offsetof(struct mz_store_entry, attempt), false},
	{"time", offsetof(struct mz_store_entry, time), false},
	{"stored", offsetof(struct mz_store_entry, stored), false},
	{"duration", offsetof(struct mz_store_entry, duration), false},
	{"known", offsetof(struct mz_store_entry, known), false},
	{"events", offsetof(struct mz_store_entry, events), false},
	{"lost", offsetof(struct mz_store_entry, lost), false},
	{"rows", offsetof(struct mz_store_entry, rows), false},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

struct listing {
	struct mz_store_entries *e;
	unsigned shard;
};

/* Stores of earlier versions have another word for recordings of programs. */
static const char *text_of(size_t column, const char *cell)
{
	bool kind = columns[column].offset == offsetof(struct mz_store_entry, kind);

	return kind && !strcmp(cell, "program") ? "user" : cell;
}

/* Texts are copied: the engine reuses its buffers for the next row. */
static int take_entry(void *arg, char *const *cells, size_t n)
{
	struct listing *l = arg;
	struct mz_store_entry *e;

	/* an answer may come from a server that is not ours */
	if (n < COLUMNS + mz_profile_nvalues)
		return -EPROTO;
	if (!mz_array_room((void **)&l->e->list, &l->e->cap, l->e->n, sizeof(*e)))
		return -ENOMEM;
	e = &l->e->list[l->e->n++];
	e->shard = l->shard;
	for (size_t i = 0; i < COLUMNS; i++) {
		void *at = (char *)e + columns[i].offset;

		if (!columns[i].text)
			*(uint64_t *)at = strtoull(cells[i], NULL, 10);
		else if (!(*(char **)at = strdup(text_of(i, cells[i]))))
			return -ENOMEM;
	}
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		*(uint64_t *)(void *)((char *)&e->all + mz_profile_values[i].offset) =
			strtoull(cells[COLUMNS + i], NULL, 10);
	return 0;
}

/* Equal times are ordered by digest: the order must not depend on the shard. */
static int by_time(const void *x, const void *y)
{
	const struct mz_store_entry *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return strcmp(a->digest, b->digest);
}

/* The shards are queried one by one, since an entry must say in which of them its stacks are. */
int mz_store_list(struct mz_store *s, const struct mz_store_filter *f, struct mz_store_entries *e,
		  struct mz_error *err)
{
	struct listing l = {.e = e};
	struct mz_buf sql = {0};
	int ret = 0;

	*e = (struct mz_store_entries){0};
	mz_buf_str(&sql, "SELECT ");
	for (size_t i = 0; i < COLUMNS; i++)
		mz_buf_printf(&sql, "%s%s", i ? ", " : "", columns[i].name);
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		mz_buf_printf(&sql, ", %s", mz_profile_values[i].name);
	mz_buf_str(&sql, " FROM $R ");
	mz_store_where(s, &sql, f);
	mz_buf_add(&sql, "", 1);
	if (sql.failed)
		ret = mz_fail_memory(err);
	for (l.shard = 0; l.shard < s->shards && !ret; l.shard++)
		ret = mz_store_ask_shard(s, l.shard, sql.data, take_entry, &l, err);
	if (!ret && e->n)
		qsort(e->list, e->n, sizeof(*e->list), by_time);
	mz_buf_free(&sql);
	return ret;
}

void mz_store_entries_free(struct mz_store_entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		for (size_t k = 0; k < COLUMNS; k++)
			if (columns[k].text)
				free(*(char **)(void *)((char *)&e->list[i] + columns[k].offset));
	free(e->list);
	*e = (struct mz_store_entries){0};
}

/* One row comes from each shard. */
static int add_count(void *arg, char *const *cells, size_t n)
{
	*(uint64_t *)arg += n ? strtoull(cells[0], NULL, 10) : 0;
	return 0;
}

int mz_store_count(struct mz_store *s, const struct mz_store_filter *f, uint64_t *n,
		   struct mz_error *err)
{
	struct mz_buf sql = {0};
	int ret;

	*n = 0;
	mz_buf_str(&sql, "SELECT count(*) FROM $R ");
	mz_store_where(s, &sql, f);
	mz_buf_add(&sql, "", 1);
	ret = sql.failed ? mz_fail_memory(err) : mz_store_ask(s, sql.data, add_count, n, err);
	mz_buf_free(&sql);
	return ret;
}

int mz_store_one_program(const struct mz_store_entries *e, struct mz_error *err)
{
	for (size_t i = 1; i < e->n; i++)
		if (strcmp(e->list[i].program, e->list[0].program))
			return mz_fail(err, EINVAL,
				       "these are recordings of '%s' and of '%s': choose one with "
				       "--program",
				       e->list[0].program, e->list[i].program);
	return 0;
}

/* The program is the first part of the keys of ClickHouse. */
static void by_program(const struct mz_store *s, struct mz_buf *b, const struct mz_store_filter *f)
{
	if (!f->program || s->ops != &mz_store_clickhouse)
		return;
	mz_buf_str(b, "program = ");
	mz_store_quote(s, b, f->program, strlen(f->program));
	mz_buf_str(b, " AND ");
}

/* ---- sums by key --------------------------------------------------------------------- */

/* Shards answer with partial sums, which are added up here. */
static int take_sum(void *arg, char *const *cells, size_t n)
{
	struct mz_store_sums *sums = arg;
	uint64_t key, max;
	uint32_t at;

	if (n != 4)
		return -EPROTO;
	key = strtoull(cells[0], NULL, 10);
	at = mz_pair_index_put(sums->index, key, 0);
	if (at == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&sums->list, &sums->cap, at, sizeof(*sums->list)))
		return -ENOMEM;
	sums->list[at].key = key;
	sums->list[at].runs += strtoull(cells[1], NULL, 10);
	sums->list[at].sum += strtoull(cells[2], NULL, 10);
	max = strtoull(cells[3], NULL, 10);
	if (max > sums->list[at].max)
		sums->list[at].max = max;
	return 0;
}

/* KMAPs keep edges: their values have other names. NULL: an edge has no such value. */
static const char *edge_value(const struct mz_profile_value *v)
{
	static const char *const names[][2] = {{"bytes", "bytes"},
					       {"blocks", "objects"},
					       {"reads", "reads"},
					       {"writes", "writes"}};

	for (size_t i = 0; i < 4; i++)
		if (!strcmp(v->name, names[i][0]))
			return names[i][1];
	return NULL;
}

static const struct {
	const char *table, *key, *only;
} groups[] = {
	[MZ_STORE_BY_SITE] = {"site", "site", ""},
	[MZ_STORE_BY_STACK] = {"profile", "stack", ""},
	[MZ_STORE_BY_OBJECT] = {"edge", "object", " AND member = 0"},
	[MZ_STORE_BY_MEMBER] = {"edge", "member", " AND member <> 0"},
	[MZ_STORE_BY_ACCESSOR] = {"edge", "accessor", " AND accessor <> 0"},
};

int mz_store_sum_by(struct mz_store *s, enum mz_store_by by, const struct mz_profile_value *v,
		    const struct mz_store_filter *f, struct mz_store_sums *sums,
		    struct mz_error *err)
{
	bool edge =
		by == MZ_STORE_BY_OBJECT || by == MZ_STORE_BY_MEMBER || by == MZ_STORE_BY_ACCESSOR;
	const char *value = edge ? edge_value(v) : v->name;
	struct mz_buf sql = {0};
	int ret;

	*sums = (struct mz_store_sums){.index = calloc(1, sizeof(*sums->index))};
	if (!value)
		return mz_fail(err, EINVAL,
			       "objects and members have bytes, blocks, reads and writes, not %s",
			       v->name);
	/* an object has many edges in a recording; a site or a stack has one row */
	if (edge)
		mz_buf_printf(
			&sql,
			"SELECT k, count(*), sum(v), max(v) FROM (SELECT %s AS k, recording AS "
			"r, sum(%s) AS v FROM %s WHERE ",
			groups[by].key, value, groups[by].table);
	else
		mz_buf_printf(&sql, "SELECT %s, count(*), sum(%s), max(%s) FROM %s WHERE ",
			      groups[by].key, value, value, groups[by].table);
	by_program(s, &sql, f);
	mz_buf_str(&sql, "recording IN (SELECT recording FROM $R ");
	mz_store_where(s, &sql, f);
	mz_buf_printf(&sql, ")%s GROUP BY %s", groups[by].only,
		      edge ? "k, r) GROUP BY k" : groups[by].key);
	mz_buf_add(&sql, "", 1);
	ret = sql.failed || !sums->index ? mz_fail_memory(err)
					 : mz_store_ask(s, sql.data, take_sum, sums, err);
	mz_buf_free(&sql);
	return ret;
}

void mz_store_sums_free(struct mz_store_sums *sums)
{
	if (sums->index)
		mz_pair_index_deinit(sums->index);
	free(sums->index);
	free(sums->list);
	*sums = (struct mz_store_sums){0};
}

/* ---- a value of each site and recording ------------------------------------------------ */

struct filling {
	struct mz_store_matrix *m;
	struct mz_pair_index runs; /* shard and attempt -> entry */
	unsigned shard;
};

/* A site begins with 0 in all runs; rows that are there fill it in. The store keeps no zeros. */
static struct mz_store_series *series_of(struct mz_store_matrix *m, uint64_t site)
{
	uint32_t at = mz_pair_index_put(m->index, site, 0);

	if (at == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&m->list, &m->cap, at, sizeof(*m->list)))
		return NULL;
	if (at >= m->n) {
		m->n = at + 1;
		m->list[at].site = site;
		m->list[at].values = calloc(m->runs + 1, sizeof(uint64_t));
	}
	return m->list[at].values ? &m->list[at] : NULL;
}

static int take_value(void *arg, char *const *cells, size_t n)
{
	struct filling *f = arg;
	struct mz_store_series *x;
	uint32_t run;

	if (n != 3)
		return -EPROTO;
	run = mz_pair_index_get(&f->runs, f->shard, strtoull(cells[1], NULL, 10));
	if (run == MZ_PAIR_INDEX_NONE)
		return 0; /* it came after the list was read */
	x = series_of(f->m, strtoull(cells[0], NULL, 10));
	if (!x)
		return -ENOMEM;
	x->values[run] += strtoull(cells[2], NULL, 10);
	return 0;
}

static int read_values(struct mz_store *s, const struct mz_store_filter *f, const uint64_t *site,
		       const struct mz_profile_value *v, struct filling *fill, struct mz_error *err)
{
	struct mz_buf sql = {0};
	int ret = 0;

	mz_buf_printf(&sql, "SELECT site, recording, %s FROM site WHERE ", v->name);
	by_program(s, &sql, f);
	if (site) {
		mz_buf_str(&sql, "site = ");
		mz_store_id(s, &sql, *site);
		mz_buf_str(&sql, " AND ");
	}
	mz_buf_printf(&sql, "%s > 0 AND recording IN (SELECT recording FROM $R ", v->name);
	mz_store_where(s, &sql, f);
	mz_buf_add(&sql, ")", 2);
	if (sql.failed)
		ret = mz_fail_memory(err);
	for (fill->shard = 0; fill->shard < s->shards && !ret; fill->shard++)
		ret = mz_store_ask_shard(s, fill->shard, sql.data, take_value, fill, err);
	mz_buf_free(&sql);
	return ret;
}

/*
 * Site 0 is the whole recording, from the recording's own row: no sum over sites is needed for the
 * most frequent questions.
 */
int mz_store_read_matrix(struct mz_store *s, const struct mz_store_filter *f,
			 const struct mz_store_entries *e, const struct mz_profile_value *v,
			 const uint64_t *site, struct mz_store_matrix *m, struct mz_error *err)
{
	struct filling fill = {.m = m};
	struct mz_store_series *all;
	int ret = 0;

	*m = (struct mz_store_matrix){.runs = e->n, .index = calloc(1, sizeof(*m->index))};
	all = m->index ? series_of(m, 0) : NULL;
	for (size_t i = 0; i < e->n && all && !ret; i++) {
		all->values[i] = mz_profile_get(v, &e->list[i].all);
		if (mz_pair_index_put(&fill.runs, e->list[i].shard, e->list[i].attempt) != i)
			ret = -ENOMEM;
	}
	if (!all || ret)
		ret = mz_fail_memory(err);
	if (!ret && (!site || *site))
		ret = read_values(s, f, site, v, &fill, err);
	mz_pair_index_deinit(&fill.runs);
	return ret;
}

void mz_store_matrix_free(struct mz_store_matrix *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->list[i].values);
	free(m->list);
	if (m->index)
		mz_pair_index_deinit(m->index);
	free(m->index);
	*m = (struct mz_store_matrix){0};
}
