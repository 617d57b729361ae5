// SPDX-License-Identifier: BSD-2-Clause
/* Keep a store on ClickHouse servers, over HTTP. */
/* Each shard is queried by itself: a shard that does not answer is an error, and never a smaller
 * result. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zlib.h>

#include "base/error.h"
#include "base/http_client.h"
#include "base/varint.h"
#include "store/store.h"

#define BLOCK_ROWS 100000 /* of a request: the server takes it whole, as one part */

struct clickhouse_state {
	struct mz_http_server servers[MZ_STORE_SHARDS];
	char db[64];
	char *headers;
};

/* ---- requests ------------------------------------------------------------------ */

/* The text of a refusal begins with its code; the line is enough. */
static int refused(struct mz_store *s, unsigned shard, int status, const struct mz_buf *answer,
		   struct mz_error *err)
{
	struct clickhouse_state *t = s->state;
	const char *text = answer->len ? answer->data : "";
	size_t n = answer->len ? strcspn(text, "\n") : 0;
	const char *code = strstr(text, "Code: ");
	int number = code ? atoi(code + 6) : 0;
	char shown[300];

	mz_printable(shown, sizeof(shown), text, n < 280 ? n : 280);
	if (status == 401 || status == 403 || number == 192 || number == 193 || number == 194 ||
	    number == 516)
		return mz_fail(err, EACCES, "%s:%s: the user or the password is wrong: %s",
			       t->servers[shard].host, t->servers[shard].port, shown);
	if (number == 243 || strstr(text, "No space left on device"))
		return mz_fail(err, ENOSPC, "%s:%s: the disk of the server is full: %s",
			       t->servers[shard].host, t->servers[shard].port, shown);
	/* too many parts, too many queries, a server that starts */
	if (number == 252 || number == 202 || status == 503)
		return mz_fail(err, EBUSY, "%s:%s: %s", t->servers[shard].host,
			       t->servers[shard].port, shown);
	return mz_fail(err, EIO, "%s:%s: %d: %s", t->servers[shard].host, t->servers[shard].port,
		       status, shown);
}

/* The password is in the headers. They are wiped when the request is done. */
static int call(struct mz_store *s, unsigned shard, const char *path, const char *more,
		const void *body, size_t size, struct mz_buf *answer, struct mz_error *err)
{
	struct clickhouse_state *t = s->state;
	struct mz_buf headers = {0};
	struct mz_http_call c = {"POST", path, NULL, body, size};
	int status;

	mz_buf_str(&headers, t->headers);
	mz_buf_add(&headers, more, strlen(more) + 1);
	if (headers.failed) {
		mz_buf_free(&headers);
		return mz_fail_memory(err);
	}
	c.headers = headers.data;
	status = mz_http_call(&t->servers[shard], &c, answer, err);
	explicit_bzero(headers.data, headers.len);
	mz_buf_free(&headers);
	if (status < 0)
		return status;
	mz_buf_add(answer, "", 1);
	if (answer->failed)
		return mz_fail_memory(err);
	answer->len--;
	return status == 200 ? 0 : refused(s, shard, status, answer, err);
}

/* wait_end_of_query: an error in the middle of an answer is reported as an error, not as a shorter
 * answer. */
static int statement(struct mz_store *s, unsigned shard, const char *db, const char *sql,
		     struct mz_buf *answer, struct mz_error *err)
{
	char path[300];

	snprintf(path, sizeof(path),
		 "/?database=%s&wait_end_of_query=1&max_query_size=1000000000&max_ast_elements="
		 "100000000&max_expanded_ast_elements=100000000",
		 db);
	return call(s, shard, path, "", sql, strlen(sql), answer, err);
}

static int ch_run(struct mz_store *s, unsigned shard, const char *sql, struct mz_error *err)
{
	struct clickhouse_state *t = s->state;
	struct mz_buf answer = {0};
	int ret = statement(s, shard, t->db, sql, &answer, err);

	mz_buf_free(&answer);
	return ret;
}

/* ---- answers: lines with tabs ---------------------------------------------------- */

/* In place; the end of the cell is where a tab or newline was. */
static void unescape(char *p)
{
	static const char from[] = "btnrf0'\\", to[] = "\b\t\n\r\f\0'\\";
	char *out = p;

	for (; *p; p++) {
		const char *e = *p == '\\' && p[1] ? strchr(from, p[1]) : NULL;

		if (e) {
			*out++ = to[e - from];
			p++;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

/*
 * Answers are not trusted: more cells than columns are dropped, and the caller checks how many
 * it got.
 */
static int rows_of(char *p, mz_store_row *row, void *arg)
{
	int ret = 0;

	while (*p && !ret) {
		char *cells[MZ_STORE_COLUMNS], *end = strchr(p, '\n');
		size_t n = 0;

		if (end)
			*end = '\0';
		for (char *tab; p && n < MZ_STORE_COLUMNS; p = tab) {
			tab = strchr(p, '\t');
			if (tab)
				*tab++ = '\0';
			cells[n++] = p;
		}
		for (size_t i = 0; i < n; i++)
			unescape(cells[i]);
		ret = row(arg, cells, n);
		p = end ? end + 1 : (char *)"";
	}
	return ret;
}

/* Lines with tabs rather than JSON: numbers of 64 bits arrive whole, and as text. */
static int ch_ask(struct mz_store *s, unsigned shard, const char *sql, mz_store_row *row, void *arg,
		  struct mz_error *err)
{
	struct clickhouse_state *t = s->state;
	struct mz_buf text = {0}, answer = {0};
	int ret;

	mz_buf_str(&text, sql);
	mz_buf_add(&text, " FORMAT TabSeparated", 21);
	ret = text.failed ? mz_fail_memory(err)
			  : statement(s, shard, t->db, text.data, &answer, err);
	if (!ret && answer.len && (ret = rows_of(answer.data, row, arg)))
		ret = mz_store_row_failed(s, ret, err);
	mz_buf_free(&text);
	mz_buf_free(&answer);
	return ret;
}

/* ---- opening --------------------------------------------------------------------- */

/*
 * The name of the database is put into statements unquoted, so it may contain nothing that needs
 * quotes.
 */
static int parse(struct mz_store *s, struct clickhouse_state *t, struct mz_error *err)
{
	const char *p = strstr(s->name, "://") + 3, *slash = strchr(p, '/');
	const char *end = slash ? slash : p + strlen(p), *db = slash && slash[1] ? slash + 1 : NULL;
	bool tls = !strncmp(s->name, "clickhouses:", 12);
	int ret = 0;

	if (!tls && strncmp(s->name, "clickhouse:", 11))
		return mz_fail(err, EINVAL,
			       "%s: a store is a file, clickhouse://HOST:PORT/DB, or "
			       "clickhouses://HOST:PORT/DB with TLS",
			       s->name);
	snprintf(t->db, sizeof(t->db), "%s", db ? db : "memorizer");
	if (db && (strlen(db) >= sizeof(t->db) ||
		   strspn(db, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
			   strlen(db)))
		return mz_fail(err, EINVAL,
			       "%s: the name of a database consists of letters, digits and _",
			       s->name);
	for (s->shards = 0; p < end && !ret; s->shards++) {
		size_t n = strcspn(p, ",/");

		if (s->shards == MZ_STORE_SHARDS)
			return mz_fail(err, E2BIG, "%s: more than %d shards", s->name,
				       MZ_STORE_SHARDS);
		ret = mz_http_server_parse(&t->servers[s->shards], p, n, tls ? "8443" : "8123",
					   err);
		t->servers[s->shards].tls = tls;
		p += n + (p[n] == ',');
	}
	return ret || s->shards ? ret
				: mz_fail(err, EINVAL, "%s: the address contains no host", s->name);
}

static int make_headers(struct mz_store *s, struct clickhouse_state *t, struct mz_error *err)
{
	int n = asprintf(&t->headers, "X-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\n",
			 s->credentials->user, s->credentials->password);

	if (n < 0)
		t->headers = NULL;
	return n < 0 ? mz_fail_memory(err) : 0;
}

static int take_number(void *arg, char *const *cells, size_t n)
{
	if (n)
		*(uint64_t *)arg = strtoull(cells[0], NULL, 10);
	return 0;
}

struct meta {
	char version[32], shards[32], shard[32];
};

static int take_meta(void *arg, char *const *cells, size_t n)
{
	struct meta *m = arg;

	if (n == 2 && !strcmp(cells[0], "version"))
		snprintf(m->version, sizeof(m->version), "%s", cells[1]);
	if (n == 2 && !strcmp(cells[0], "shards"))
		snprintf(m->shards, sizeof(m->shards), "%s", cells[1]);
	if (n == 2 && !strcmp(cells[0], "shard"))
		snprintf(m->shard, sizeof(m->shard), "%s", cells[1]);
	return 0;
}

/* The mark comes last: tables without it are created again. */
static int create_tables(struct mz_store *s, unsigned shard, struct mz_error *err)
{
	struct mz_buf sql = {0};
	char mark[200];
	int ret = ch_run(s, shard,
			 "CREATE TABLE IF NOT EXISTS memorizer_meta (name String, value String) "
			 "ENGINE = ReplacingMergeTree() ORDER BY name",
			 err);

	for (int i = 0; i < MZ_STORE_TABLES && !ret; i++) {
		sql.len = 0;
		mz_store_create(&sql, i, true);
		ret = sql.failed ? mz_fail_memory(err) : ch_run(s, shard, sql.data, err);
	}
	mz_buf_free(&sql);
	snprintf(mark, sizeof(mark),
		 "INSERT INTO memorizer_meta VALUES ('version', '%d'), ('shards', '%u'), ('shard', "
		 "'%u')",
		 MZ_STORE_VERSION, s->shards, shard);
	return ret ? ret : ch_run(s, shard, mark, err);
}

/* Which shard a recording is on depends on how many there are: with another list of servers
 * it would be looked for, and sent, elsewhere. */
static int check_place(struct mz_store *s, unsigned shard, const struct meta *m,
		       struct mz_error *err)
{
	struct clickhouse_state *t = s->state;

	if (strtoul(m->shards, NULL, 10) == s->shards && strtoul(m->shard, NULL, 10) == shard)
		return 0;
	return mz_fail(
		err, EINVAL,
		"%s:%s is shard %lu of %s of this store, and was named as %u of %u: name all "
		"shards, in their order",
		t->servers[shard].host, t->servers[shard].port, strtoul(m->shard, NULL, 10) + 1,
		m->shards, shard + 1, s->shards);
}

/*
 * The system's tables are queried: a query to a missing database is an error that looks like any
 * other.
 */
static int has_rows(struct mz_store *s, unsigned shard, const char *what, uint64_t *n,
		    struct mz_error *err)
{
	struct clickhouse_state *t = s->state;
	struct mz_buf answer = {0};
	char sql[200];
	int ret;

	*n = 0;
	snprintf(sql, sizeof(sql), "SELECT count() FROM system.%s '%s' FORMAT TabSeparated", what,
		 t->db);
	ret = statement(s, shard, "system", sql, &answer, err);
	if (!ret && answer.len)
		rows_of(answer.data, take_number, n);
	mz_buf_free(&answer);
	return ret;
}

/*
 * The order matters: is there a database, is anything in it, is it ours. Something is only made
 * if there is nothing at all.
 */
static int open_shard(struct mz_store *s, unsigned shard, bool create, struct mz_error *err)
{
	struct clickhouse_state *t = s->state;
	struct mz_buf answer = {0};
	struct meta m = {0};
	uint64_t db = 0, tables = 0, ours = 0;
	char sql[120];
	int ret = has_rows(s, shard, "databases WHERE name =", &db, err);

	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", t->db);
	if (!ret)
		ret = has_rows(s, shard, "tables WHERE database =", &tables, err);
	if (!ret)
		ret = has_rows(s, shard,
			       "tables WHERE name = 'memorizer_meta' AND database =", &ours, err);
	if (!ret && tables && !ours)
		ret = mz_fail(err, EINVAL,
			      "%s: a database of another program, not a store of recordings",
			      s->name);
	if (!ret && !tables && !create)
		ret = mz_fail(err, ENOENT,
			      "%s: there is no such store; 'memorizer store add' creates one",
			      s->name);
	if (!ret && !db)
		ret = statement(s, shard, "system", sql, &answer, err);
	mz_buf_free(&answer);
	if (!ret && ours)
		ret = ch_ask(s, shard, "SELECT name, value FROM memorizer_meta FINAL", take_meta,
			     &m, err);
	if (ret)
		return ret;
	if (!*m.version)
		return create ? create_tables(s, shard, err)
			      : mz_fail(err, EINVAL, "%s: not a store of recordings", s->name);
	ret = mz_store_check_version(s->name, m.version, err);
	return ret ? ret : check_place(s, shard, &m, err);
}

/* Opens all shards, even if one does not answer: a sender may have recordings for the others. */
static int open_shards(struct mz_store *s, bool create, struct mz_error *err)
{
	int away = 0;

	for (unsigned i = 0; i < s->shards; i++) {
		struct mz_error why = {0};
		int ret = open_shard(s, i, create, &why);

		if (ret && (!away || !mz_http_is_away(ret)) && err)
			*err = why;
		if (ret && !mz_http_is_away(ret))
			return ret;
		if (ret) {
			away = away ? away : ret;
			s->away |= 1ull << i;
		}
	}
	return away;
}

static int ch_open(struct mz_store *s, bool create, struct mz_error *err)
{
	struct clickhouse_state *t = calloc(1, sizeof(*t));
	int ret;

	s->state = t;
	if (!t)
		return mz_fail_memory(err);
	ret = parse(s, t, err);
	if (!ret)
		ret = make_headers(s, t, err);
	return ret ? ret : open_shards(s, create, err);
}

static void ch_close(struct mz_store *s)
{
	struct clickhouse_state *t = s->state;

	if (!t)
		return;
	if (t->headers)
		explicit_bzero(t->headers, strlen(t->headers));
	free(t->headers);
	free(t);
}

/* ---- writing: the format Native, by column ------------------------------------------ */

/* Random numbers: senders do not know each other, and 64 random bits do not collide. */
static int ch_begin(struct mz_store *s, unsigned shard, struct mz_store_attempt *a,
		    struct mz_error *err)
{
	(void)s;
	(void)shard;
	return getrandom(&a->number, sizeof(a->number), 0) == sizeof(a->number)
		       ? 0
		       : mz_fail(err, errno, "no random number: %s", strerror(errno));
}

static int ch_end(struct mz_store *s, unsigned shard, bool commit, struct mz_error *err)
{
	(void)s;
	(void)shard;
	(void)commit;
	(void)err;
	return 0; /* the row of the recording did it */
}

static void put_name(struct mz_buf *b, const char *s)
{
	mz_varint_put(b, strlen(s));
	mz_buf_str(b, s);
}

/* Moves p behind n cells of texts. */
static const char *skip_texts(const char *p, size_t n)
{
	while (n--) {
		uint64_t len = mz_varint_next(&p);

		p += len;
	}
	return p;
}

static void put_same(struct mz_buf *b, const struct mz_store_column *c,
		     const struct mz_store_attempt *a, size_t n)
{
	struct mz_buf cell = {0};

	if (c->from == MZ_STORE_PROGRAM)
		put_name(&cell, a->program);
	else if (c->from == MZ_STORE_OF_DAY)
		mz_buf_add(&cell, &a->day, sizeof(a->day));
	else
		mz_buf_add(&cell, &a->number, sizeof(a->number));
	b->failed |= cell.failed;
	while (n-- && !b->failed)
		mz_buf_add(b, cell.data, cell.len);
	mz_buf_free(&cell);
}

/* A block of up to BLOCK_ROWS rows; at: where the columns are by now. */
static void put_block(struct mz_buf *b, const struct mz_store_schema *m,
		      const struct mz_store_attempt *a, const char **at, size_t n)
{
	static const char *const types[] = {"UInt64", "Date", "String"};

	mz_varint_put(b, m->n);
	mz_varint_put(b, n);
	for (size_t i = 0; i < m->n; i++) {
		const struct mz_store_column *c = &m->columns[i];
		const char *end;

		put_name(b, c->name);
		put_name(b, types[c->type]);
		if (c->from != MZ_STORE_OWN) {
			put_same(b, c, a, n);
			continue;
		}
		end = c->type == MZ_STORE_TEXT ? skip_texts(at[i], n) : at[i] + 8 * n;
		mz_buf_add(b, at[i], (size_t)(end - at[i]));
		at[i] = end;
	}
}

/* gzip at its fastest: columns of numbers shrink to a fifth and more. */
static int pack(const struct mz_buf *in, struct mz_buf *out, struct mz_error *err)
{
	z_stream z = {.next_in = (Bytef *)in->data, .avail_in = (uInt)in->len};
	int code;

	out->len = 0;
	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return mz_fail_memory(err);
	if (!mz_buf_room(out, deflateBound(&z, in->len))) {
		deflateEnd(&z);
		return mz_fail_memory(err);
	}
	z.next_out = (Bytef *)out->data;
	z.avail_out = (uInt)out->cap;
	code = deflate(&z, Z_FINISH);
	out->len = z.total_out;
	deflateEnd(&z);
	return code == Z_STREAM_END ? 0 : mz_fail_memory(err);
}

/*
 * Blocks of a hundred thousand rows: a server takes each as one part, and many small parts make
 * it refuse inserts.
 */
static int ch_put(struct mz_store *s, unsigned shard, enum mz_store_table table,
		  const struct mz_store_attempt *a, const struct mz_store_rows *rows,
		  struct mz_error *err)
{
	const struct mz_store_schema *m = &mz_store_schema[table];
	struct clickhouse_state *t = s->state;
	struct mz_buf block = {0}, packed = {0}, answer = {0};
	const char *at[MZ_STORE_COLUMNS];
	char path[200];
	int ret = 0;

	snprintf(path, sizeof(path), "/?database=%s&query=INSERT%%20INTO%%20%s%%20FORMAT%%20Native",
		 t->db, m->name);
	for (size_t i = 0; i < m->n; i++)
		at[i] = rows->column[i].data;
	for (size_t done = 0, n; done < rows->n && !ret; done += n) {
		n = rows->n - done < BLOCK_ROWS ? rows->n - done : BLOCK_ROWS;
		block.len = answer.len = 0;
		put_block(&block, m, a, at, n);
		ret = block.failed ? mz_fail_memory(err) : pack(&block, &packed, err);
		if (!ret)
			ret = call(s, shard, path, "Content-Encoding: gzip\r\n", packed.data,
				   packed.len, &answer, err);
	}
	mz_buf_free(&block);
	mz_buf_free(&packed);
	mz_buf_free(&answer);
	return ret;
}

const struct mz_store_ops mz_store_clickhouse = {
	.find = "position",
	.final = "FINAL",
	.backslash = true,
	.open = ch_open,
	.close = ch_close,
	.begin = ch_begin,
	.put = ch_put,
	.end = ch_end,
	.ask = ch_ask,
	.run = ch_run,
};
