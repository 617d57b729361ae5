// SPDX-License-Identifier: BSD-2-Clause
/* Send a recording to a store: names first, its own row last; try again while the store does not
 * answer. */
#include "store/send.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/http_client.h"
#include "base/varint.h"

#define FUTURE	  300000 /* ms that clocks may differ by */
#define ASK_NAMES 20000	 /* in one question */

bool mz_store_is_away(int code)
{
	return mz_http_is_away(code);
}

static int take_number(void *arg, char *const *cells, size_t n)
{
	if (n)
		*(uint64_t *)arg = strtoull(cells[0], NULL, 10);
	return 0;
}

/* ---- names that are there already --------------------------------------------- */

struct known_names {
	struct mz_pair_index known;
};

static int take_name(void *arg, char *const *cells, size_t n)
{
	struct known_names *k = arg;

	(void)n;
	return mz_pair_index_put(&k->known, strtoull(cells[0], NULL, 10), 0) == MZ_PAIR_INDEX_NONE
		       ? -ENOMEM
		       : 0;
}

/*
 * In lists of bounded length: a question of a hundred thousand numbers is a megabyte of text that
 * the server parses before it looks anything up.
 */
static int ask_names(struct mz_store *s, unsigned shard, const struct mz_store_schema *t,
		     const uint64_t *ids, size_t n, struct known_names *k, struct mz_error *err)
{
	const char *key = t->columns[0].name;
	struct mz_buf sql = {0};
	int ret = 0;

	for (size_t i = 0; i < n && !ret;) {
		size_t stop = n - i < ASK_NAMES ? n : i + ASK_NAMES;

		sql.len = 0;
		mz_buf_printf(&sql, "SELECT %s FROM %s WHERE %s IN (", key, t->name, key);
		for (; i < stop; i++) {
			mz_store_id(s, &sql, ids[i]);
			mz_buf_str(&sql, i + 1 < stop ? "," : "");
		}
		mz_buf_add(&sql, ")", 2);
		ret = sql.failed ? mz_fail_memory(err)
				 : mz_store_ask_shard(s, shard, sql.data, take_name, k, err);
	}
	mz_buf_free(&sql);
	return ret;
}

/* The bytes of one cell. */
static size_t cell_size(const struct mz_store_column *c, const char *p)
{
	const char *at = p;
	uint64_t len;

	if (c->type != MZ_STORE_TEXT)
		return sizeof(uint64_t);
	len = mz_varint_next(&at);
	return (size_t)(at - p) + len;
}

/* The rows whose first column is not known. */
static int choose(const struct mz_store_schema *t, const struct mz_store_rows *all,
		  const struct known_names *k, struct mz_store_rows *some)
{
	const char *at[MZ_STORE_COLUMNS];

	for (size_t i = 0; i < t->n; i++)
		at[i] = all->column[i].data;
	for (size_t r = 0; r < all->n; r++) {
		uint64_t id;
		bool new;

		memcpy(&id, at[0], sizeof(id));
		new = mz_pair_index_get(&k->known, id, 0) == MZ_PAIR_INDEX_NONE;
		for (size_t i = 0; i < t->n; i++) {
			size_t n = cell_size(&t->columns[i], at[i]);

			if (new)
				mz_buf_add(&some->column[i], at[i], n);
			at[i] += n;
		}
		some->n += new;
	}
	for (size_t i = 0; i < t->n; i++)
		if (some->column[i].failed)
			return -ENOMEM;
	return 0;
}

/* What this sender has sent or knows to be there, so that it need not query again. */
static struct mz_pair_index *known_names(struct mz_store *s, enum mz_store_table table)
{
	struct mz_pair_index **k = &s->known[table == MZ_STORE_STACK];

	if (!*k)
		*k = calloc(1, sizeof(**k));
	return *k;
}

/* Names are kept by shard: each server has those of its own recordings only. */
static size_t list_unknown(const struct mz_pair_index *known, unsigned shard,
			   const struct mz_store_rows *rows, uint64_t *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		uint64_t id;

		memcpy(&id, rows->column[0].data + 8 * i, sizeof(id));
		if (mz_pair_index_get(known, id, shard) == MZ_PAIR_INDEX_NONE)
			ids[n++] = id;
	}
	return n;
}

/* Of the rows, those that the server does not have. */
static int put_missing(struct mz_store *s, unsigned shard, enum mz_store_table table,
		       const struct mz_store_attempt *a, const struct mz_store_rows *rows,
		       const uint64_t *ids, size_t n, struct mz_error *err)
{
	const struct mz_store_schema *t = &mz_store_schema[table];
	struct mz_pair_index *known = s->known[table == MZ_STORE_STACK];
	struct mz_store_rows some = {0};
	struct known_names k = {0};
	int ret = ask_names(s, shard, t, ids, n, &k, err);

	/* those that were known before count as told */
	for (size_t i = 0; i < known->count && !ret; i++)
		if (known->keys[i].b == shard &&
		    mz_pair_index_put(&k.known, known->keys[i].a, 0) == MZ_PAIR_INDEX_NONE)
			ret = mz_fail_memory(err);
	if (!ret && choose(t, rows, &k, &some) < 0)
		ret = mz_fail_memory(err);
	if (!ret && some.n)
		ret = s->ops->put(s, shard, table, a, &some, err);
	for (size_t i = 0; i < n && !ret; i++)
		if (mz_pair_index_put(known, ids[i], shard) == MZ_PAIR_INDEX_NONE)
			ret = mz_fail_memory(err);
	for (size_t i = 0; i < t->n; i++)
		mz_buf_free(&some.column[i]);
	mz_pair_index_deinit(&k.known);
	return ret;
}

/* Names are the same for all recordings: a server is asked first which it lacks. SQLite looks
 * that up as it inserts. */
static int put_names(struct mz_store *s, unsigned shard, enum mz_store_table table,
		     const struct mz_store_attempt *a, const struct mz_store_rows *rows,
		     struct mz_error *err)
{
	struct mz_pair_index *known;
	uint64_t *ids;
	size_t n;
	int ret;

	if (s->ops == &mz_store_sqlite)
		return s->ops->put(s, shard, table, a, rows, err);
	known = known_names(s, table);
	ids = calloc(rows->n + 1, sizeof(*ids));
	n = known && ids ? list_unknown(known, shard, rows, ids) : 0;
	ret = !known || !ids ? mz_fail_memory(err)
	      : n	     ? put_missing(s, shard, table, a, rows, ids, n, err)
			     : 0;
	free(ids);
	return ret;
}

/* ---- an attempt ------------------------------------------------------------------ */

/* The store remembers when its last recording arrived. If that time is in the future here, this
 * clock is slow, and its stamps would be sorted into the past. */
static int check_clock(struct mz_store *s, unsigned shard, uint64_t now, struct mz_error *err)
{
	uint64_t newest = 0;
	int ret = mz_store_ask_shard(s, shard, "SELECT max(stored) FROM recording", take_number,
				     &newest, err);

	if (!ret && newest > now + FUTURE)
		return mz_fail(
			err, ERANGE,
			"%s: its newest recording arrived %llu s after the time that the clock "
			"of this machine shows: the clock runs backwards; nothing was added",
			s->name, (unsigned long long)(newest - now) / 1000);
	return ret;
}

/* By the digest, so that sending again changes nothing, whatever the file is called by now. */
static int is_there(struct mz_store *s, unsigned shard, const struct mz_store_item *item,
		    uint64_t *n, struct mz_error *err)
{
	struct mz_buf sql = {0};
	int ret;

	/* the program first: ClickHouse finds the row by both */
	mz_buf_str(&sql, "SELECT count(*) FROM recording WHERE program = ");
	mz_store_quote(s, &sql, item->program, strlen(item->program));
	mz_buf_printf(&sql, " AND digest = '%s'", item->digest);
	mz_buf_add(&sql, "", 1);
	ret = sql.failed ? mz_fail_memory(err)
			 : mz_store_ask_shard(s, shard, sql.data, take_number, n, err);
	mz_buf_free(&sql);
	return ret;
}

static int put_all(struct mz_store *s, unsigned shard, const struct mz_store_item *item,
		   const struct mz_store_attempt *a, struct mz_error *err)
{
	int ret = 0;

	/* in the order of the tables: the recording is the last */
	for (int t = 0; t < MZ_STORE_TABLES && !ret; t++) {
		if (!item->rows[t].n)
			continue;
		ret = t == MZ_STORE_FRAME || t == MZ_STORE_STACK
			      ? put_names(s, shard, t, a, &item->rows[t], err)
			      : s->ops->put(s, shard, t, a, &item->rows[t], err);
	}
	return ret;
}

/*
 * The store is queried twice for the recording: before the transaction, so that a repeated send
 * costs one question, and inside it, because two senders may send one file.
 */
static int attempt(struct mz_store *s, const struct mz_store_item *item, uint64_t now,
		   struct mz_error *err)
{
	struct mz_store_attempt a = {.program = item->program, .day = (uint16_t)item->day};
	unsigned shard = mz_store_shard(s, item->digest);
	uint64_t there = 0;
	int ret = is_there(s, shard, item, &there, err), done;

	if (ret || there)
		return ret;
	ret = check_clock(s, shard, now, err);
	if (ret)
		return ret;
	ret = s->ops->begin(s, shard, &a, err);
	if (!ret) /* another sender may have come first */
		ret = is_there(s, shard, item, &there, err);
	if (!ret && !there)
		ret = put_all(s, shard, item, &a, err);
	done = s->ops->end(s, shard, !ret, err);
	return ret ? ret : done ? done : !there;
}

/* Half a second, then twice as long each time, up to half a minute; with a random part, so that
 * a thousand senders do not return at the same time. */
static void pause_before(unsigned try, const struct mz_store_sending *how, const char *why)
{
	double s = try < 7 ? 0.5 * (1 << try) : 30;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	s *= 0.75 + 0.5 * (double)(t.tv_nsec % 1000) / 1000;
	if (how->waits)
		how->waits(how->arg, why, s);
	t.tv_sec = (time_t)s;
	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

/*
 * Only a store that does not answer is tried again. A refusal (a wrong password, a full disk) would
 * be the same the next time, and waiting would hide it.
 */
int mz_store_send(struct mz_store *s, const struct mz_store_item *item,
		  const struct mz_store_sending *how, struct mz_error *err)
{
	for (unsigned try = 0;; try++) {
		struct mz_error why = {0};
		int ret = attempt(s, item, how->now(), &why);

		if (ret >= 0 || !mz_store_is_away(ret) || try + 1 >= how->tries) {
			if (ret < 0 && err)
				*err = why;
			return ret;
		}
		pause_before(try, how, why.text);
	}
}

int mz_store_open_patiently(struct mz_store *s, const char *name, const char *credentials,
			    const struct mz_store_sending *how, struct mz_error *err)
{
	for (unsigned try = 0;; try++) {
		struct mz_error why = {0};
		int ret = mz_store_open(s, name, credentials, true, &why);

		if (!ret || !mz_store_is_away(ret) || try + 1 >= how->tries) {
			if (ret && err)
				*err = why;
			return ret;
		}
		mz_store_close(s);
		pause_before(try, how, why.text);
	}
}
