// SPDX-License-Identifier: BSD-2-Clause
/* Keep a store in one file, by SQLite. A recording is one transaction. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/http_client.h"
#include "base/varint.h"
#include "store/store.h"

#define APPLICATION 0x4d5a5354 /* "MZST" in the header of the file */
#define BUSY_MS	    60000
#define MOST_BYTES  (64 << 20) /* of a text, or of a row; a stack has less than 100 KB */

struct sqlite_state {
	sqlite3 *db;
	char *path;
	bool frozen;	 /* opened as a file that does not change */
	struct stat was; /* when it was opened so */
	sqlite3_stmt *insert[MZ_STORE_TABLES];
};

/*
 * SQLite's codes as errors that say what to do. After any of them the transaction is rolled back.
 */
static int fail(struct mz_store *s, int code, struct mz_error *err)
{
	struct sqlite_state *t = s->state;

	switch (code & 0xff) {
	case SQLITE_NOMEM: return mz_fail_memory(err);
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return mz_fail(err, EINVAL, "%s: not a store of recordings: %s", s->name,
			       sqlite3_errmsg(t->db));
	case SQLITE_FULL: return mz_fail(err, ENOSPC, "%s: the disk is full", s->name);
	case SQLITE_CANTOPEN: return mz_fail(err, ENOENT, "%s: cannot be opened", s->name);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return mz_fail(err, EAGAIN, "%s: another process is writing to it", s->name);
	case SQLITE_READONLY:
	case SQLITE_PERM: return mz_fail(err, EACCES, "%s: cannot be written", s->name);
	default: return mz_fail(err, EIO, "%s: %s", s->name, sqlite3_errmsg(t->db));
	}
}

static int execute(struct mz_store *s, const char *sql, struct mz_error *err)
{
	struct sqlite_state *t = s->state;
	int code = sqlite3_exec(t->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : fail(s, code, err);
}

static int number_of(struct mz_store *s, const char *sql, int64_t *v, struct mz_error *err)
{
	struct sqlite_state *t = s->state;
	sqlite3_stmt *q = NULL;
	int code = sqlite3_prepare_v2(t->db, sql, -1, &q, NULL);

	if (code == SQLITE_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
		*v = sqlite3_column_int64(q, 0);
		code = SQLITE_OK;
	}
	sqlite3_finalize(q);
	return code == SQLITE_OK ? 0 : fail(s, code, err);
}

/* ---- opening ----------------------------------------------------------------- */

/* All of it or nothing: a file that is empty stays so. */
static int create_tables(struct mz_store *s, struct mz_error *err)
{
	struct mz_buf sql = {0};
	char mark[120];
	int ret = execute(s, "BEGIN IMMEDIATE", err);

	for (int i = 0; i < MZ_STORE_TABLES && !ret; i++) {
		sql.len = 0;
		mz_store_create(&sql, i, false);
		ret = sql.failed ? mz_fail_memory(err) : execute(s, sql.data, err);
	}
	mz_buf_free(&sql);
	snprintf(mark, sizeof(mark), "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		 APPLICATION, MZ_STORE_VERSION);
	if (!ret)
		ret = execute(s,
			      "CREATE INDEX IF NOT EXISTS recording_by ON recording (program, "
			      "revision, recording); CREATE UNIQUE INDEX IF NOT EXISTS "
			      "recording_number ON recording (recording)",
			      err);
	if (!ret)
		ret = execute(s, mark, err);
	if (ret)
		execute(s, "ROLLBACK", NULL);
	return ret;
}

/* A database of another program is never written to, not even an empty table of ours. */
static int check(struct mz_store *s, bool create, struct mz_error *err)
{
	int64_t application = 0, version = 0, tables = 0;
	char text[32];
	int ret = number_of(s, "PRAGMA application_id", &application, err);

	if (!ret)
		ret = number_of(s, "PRAGMA user_version", &version, err);
	if (!ret)
		ret = number_of(s, "SELECT count(*) FROM sqlite_master", &tables, err);
	if (ret)
		return ret;
	if (application != APPLICATION && (tables || application || version))
		return mz_fail(err, EINVAL,
			       "%s: a database of another program, not a store of recordings",
			       s->name);
	if (!tables)
		return create ? create_tables(s, err)
			      : mz_fail(err, EINVAL, "%s: not a store of recordings", s->name);
	snprintf(text, sizeof(text), "%lld", (long long)version);
	return mz_store_check_version(s->name, text, err);
}

/* SQLite gives ":memory:", "" and "file:..." a meaning of their own. A path has none. */
static char *plain_path(const char *name)
{
	struct mz_buf b = {0};

	mz_buf_printf(&b, "%s%s", *name == '/' ? "" : "./", name);
	mz_buf_add(&b, "", 1);
	if (b.failed)
		mz_buf_free(&b);
	return b.data;
}

static int check_name(const char *name, struct mz_error *err)
{
	struct stat st;

	if (!*name)
		return mz_fail(err, EINVAL, "the name of the store is empty");
	if (!stat(name, &st) && !S_ISREG(st.st_mode))
		return mz_fail(err, EINVAL, "%s: is a %s, and a store is a file", name,
			       S_ISDIR(st.st_mode) ? "folder" : "device or pipe");
	return 0;
}

/* For the owner alone, as all files that we make; its log gets the same mode. */
static void make_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

/* The file may be hostile. A view in the place of a table, or a trigger, is a program that may have
 * no end; an expression in the schema may make texts of a gigabyte. */
static void distrust(sqlite3 *db)
{
	static const int off[] = {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER,
				  SQLITE_DBCONFIG_TRUSTED_SCHEMA};

	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		sqlite3_db_config(db, off[i], 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_BYTES);
}

/* SQLite tries to open what it cannot create, so its errno says that there is no such file. */
static int cannot_create(const struct mz_store *s, const char *path, struct mz_error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
	int why = !folder ? ENOMEM : access(folder, W_OK | X_OK) ? errno : EIO;

	free(folder);
	if (why == ENOENT)
		return mz_fail(err, why, "%s: its folder does not exist", s->name);
	return mz_fail(err, why, "%s: cannot be created: %s", s->name, strerror(why));
}

static int open_file(struct mz_store *s, const char *path, int flags, struct mz_error *err)
{
	struct sqlite_state *t = s->state;
	int code = sqlite3_open_v2(path, &t->db, flags, NULL);

	if (code == SQLITE_CANTOPEN && access(path, F_OK) && errno == ENOENT) {
		if (flags & SQLITE_OPEN_CREATE)
			return cannot_create(s, path, err);
		return mz_fail(err, ENOENT,
			       "%s: there is no such store; 'memorizer store add' creates one",
			       s->name);
	}
	if (code != SQLITE_OK)
		return fail(s, code, err);
	distrust(t->db);
	return 0;
}

/* ---- a store that cannot be written ------------------------------------------------ */

/*
 * SQLite needs a file beside the store even to read it, and cannot make one on a read-only disk or
 * in a folder of another user. It can be told that the file never changes, which is right only
 * while there is no log and no writer: both are checked again after each question.
 */
static bool has_log(const struct sqlite_state *t)
{
	struct mz_buf b = {0};
	struct stat st;
	bool has;

	mz_buf_printf(&b, "%s-wal", t->path);
	mz_buf_add(&b, "", 1);
	has = b.failed || (!stat(b.data, &st) && st.st_size > 0);
	mz_buf_free(&b);
	return has;
}

static int check_frozen(struct mz_store *s, struct mz_error *err)
{
	const struct sqlite_state *t = s->state;
	struct stat now;

	if (!t->frozen)
		return 0;
	if (has_log(t) || stat(t->path, &now) || now.st_ino != t->was.st_ino ||
	    now.st_size != t->was.st_size || now.st_mtim.tv_sec != t->was.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != t->was.st_mtim.tv_nsec)
		return mz_fail(err, EAGAIN, "%s: was changed while it was read; try again",
			       s->name);
	return 0;
}

static int open_frozen(struct mz_store *s, struct mz_error *err)
{
	struct sqlite_state *t = s->state;
	struct mz_buf uri = {0};
	int code;

	if (has_log(t) || stat(t->path, &t->was))
		return mz_fail(err, EACCES,
			       "%s: has a log (%s-wal), which can be read only where the store can "
			       "be written",
			       s->name, s->name);
	sqlite3_close(t->db);
	t->db = NULL;
	t->frozen = true;
	mz_buf_str(&uri, "file:");
	mz_http_escape(&uri, t->path, strlen(t->path));
	mz_buf_str(&uri, "?immutable=1");
	mz_buf_add(&uri, "", 1);
	code = uri.failed ? SQLITE_NOMEM
			  : sqlite3_open_v2(uri.data, &t->db,
					    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	mz_buf_free(&uri);
	if (code != SQLITE_OK)
		return fail(s, code, err);
	distrust(t->db);
	return check(s, false, err);
}

/* Whether the store is there, and only the right to write beside it is missing. */
static bool is_read_only(const struct sqlite_state *t, int ret)
{
	return (ret == -EACCES || ret == -ENOENT) && !access(t->path, R_OK);
}

/* A write-ahead log: readers and a writer do not wait for each other. */
static int sql_open(struct mz_store *s, bool create, struct mz_error *err)
{
	struct sqlite_state *t = calloc(1, sizeof(*t));
	struct mz_error why = {0};
	int ret;

	s->state = t;
	if (!t || !(t->path = plain_path(s->name)))
		return mz_fail_memory(err);
	ret = check_name(s->name, err);
	if (!ret && create)
		make_file(t->path);
	if (!ret)
		ret = open_file(s, t->path,
				SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), err);
	if (ret)
		return ret;
	sqlite3_busy_timeout(t->db, BUSY_MS);
	ret = check(s, create, &why);
	if (is_read_only(t, ret)) {
		why = (struct mz_error){0};
		ret = create ? mz_fail(&why, EACCES, "%s: cannot be written", s->name)
			     : open_frozen(s, &why);
	}
	if (ret && err)
		*err = why;
	if (!ret && create)
		ret = execute(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", err);
	return ret ? ret : execute(s, "PRAGMA cache_size=-65536", err);
}

static void sql_close(struct mz_store *s)
{
	struct sqlite_state *t = s->state;

	if (!t)
		return;
	for (int i = 0; i < MZ_STORE_TABLES; i++)
		sqlite3_finalize(t->insert[i]);
	sqlite3_close(t->db);
	free(t->path);
	free(t);
}

/* ---- writing ------------------------------------------------------------------ */

/* Numbers from 1 on: in a row they take a byte or two where a random number takes eight. */
static int sql_begin(struct mz_store *s, unsigned shard, struct mz_store_attempt *a,
		     struct mz_error *err)
{
	int64_t last = 0;
	int ret = execute(s, "BEGIN IMMEDIATE", err);

	(void)shard;
	if (!ret)
		ret = number_of(s, "SELECT max(recording) FROM recording", &last, err);
	a->number = (uint64_t)last + 1;
	return ret;
}

/* A commit that fails is rolled back as well: nothing half written stays open. */
static int sql_end(struct mz_store *s, unsigned shard, bool commit, struct mz_error *err)
{
	int ret = commit ? execute(s, "COMMIT", err) : 0;

	(void)shard;
	if (!commit || ret)
		execute(s, "ROLLBACK", NULL);
	return ret;
}

/* Names are there once; all else is new. */
static sqlite3_stmt *prepare(struct mz_store *s, enum mz_store_table table, struct mz_error *err)
{
	const struct mz_store_schema *m = &mz_store_schema[table];
	struct sqlite_state *t = s->state;
	struct mz_buf sql = {0};
	bool first = true;
	int code;

	if (t->insert[table])
		return t->insert[table];
	mz_buf_printf(&sql, "INSERT %sINTO %s VALUES (",
		      table == MZ_STORE_FRAME || table == MZ_STORE_STACK ? "OR IGNORE " : "",
		      m->name);
	for (size_t i = 0; i < m->n; i++) {
		if (!mz_store_has(&m->columns[i], false))
			continue;
		mz_buf_str(&sql, first ? "?" : ",?");
		first = false;
	}
	mz_buf_add(&sql, ")", 2);
	code = sql.failed ? SQLITE_NOMEM
			  : sqlite3_prepare_v2(t->db, sql.data, -1, &t->insert[table], NULL);
	mz_buf_free(&sql);
	if (code != SQLITE_OK)
		fail(s, code, err);
	return t->insert[table];
}

/* A cell of the rows' own; at is moved behind it. Frames are bytes, all else is text. */
static int bind_own(sqlite3_stmt *q, int at, const struct mz_store_column *c, const char **p)
{
	uint64_t v;

	if (c->type != MZ_STORE_TEXT) {
		memcpy(&v, *p, sizeof(v));
		*p += sizeof(v);
		return sqlite3_bind_int64(q, at, (int64_t)v);
	}
	v = mz_varint_next(p);
	*p += v;
	return strcmp(c->name, "frames")
		       ? sqlite3_bind_text64(q, at, *p - v, v, SQLITE_STATIC, SQLITE_UTF8)
		       : sqlite3_bind_blob64(q, at, *p - v, v, SQLITE_STATIC);
}

/*
 * Columns that all rows of an attempt share are bound from the attempt, and take no memory in the
 * rows.
 */
static int bind(sqlite3_stmt *q, int at, const struct mz_store_column *c,
		const struct mz_store_attempt *a, const char **p)
{
	switch (c->from) {
	case MZ_STORE_PROGRAM: return sqlite3_bind_text(q, at, a->program, -1, SQLITE_STATIC);
	case MZ_STORE_OF_DAY: return sqlite3_bind_int64(q, at, a->day);
	case MZ_STORE_ATTEMPT: return sqlite3_bind_int64(q, at, (int64_t)a->number);
	default: return bind_own(q, at, c, p);
	}
}

/* Rows in the order of their key: the tree of a table then grows at few places, and its pages
 * are found in the cache. */
struct row_order {
	int64_t key;
	size_t row;
};

static int by_key(const void *x, const void *y)
{
	const struct row_order *a = x, *b = y;

	return MZ_ORDER(a->key, b->key);
}

static struct row_order *sort_rows(enum mz_store_table table, const struct mz_store_rows *rows)
{
	static const char *const keys[MZ_STORE_TABLES] = {
		[MZ_STORE_FRAME] = "frame",   [MZ_STORE_STACK] = "stack",
		[MZ_STORE_PROFILE] = "stack", [MZ_STORE_SITE] = "site",
		[MZ_STORE_TIMELINE] = "t",    [MZ_STORE_EDGE] = "object"};
	const struct mz_store_schema *m = &mz_store_schema[table];
	struct row_order *list = calloc(rows->n + 1, sizeof(*list));
	size_t c = 0;

	while (keys[table] && strcmp(m->columns[c].name, keys[table]))
		c++;
	for (size_t i = 0; list && i < rows->n; i++) {
		list[i].row = i;
		if (keys[table])
			memcpy(&list[i].key, rows->column[c].data + 8 * i, 8);
	}
	if (list && keys[table])
		qsort(list, rows->n, sizeof(*list), by_key);
	return list;
}

/* Where each text of a column begins. */
static const char **find_texts(const struct mz_buf *column, size_t n)
{
	const char **at = calloc(n + 1, sizeof(*at)), *p = column->data;

	for (size_t i = 0; at && i < n; i++) {
		uint64_t len;

		at[i] = p;
		len = mz_varint_next(&p);
		p += len;
	}
	return at;
}

/* The rows of a table, ready to be read in any order. */
struct access {
	const struct mz_store_schema *m;
	const struct mz_store_rows *rows;
	struct row_order *order;
	const char **texts[MZ_STORE_COLUMNS];
};

static void access_free(struct access *a)
{
	for (size_t i = 0; i < a->m->n; i++)
		free(a->texts[i]);
	free(a->order);
}

static int access_open(struct access *a, enum mz_store_table table,
		       const struct mz_store_rows *rows)
{
	bool failed;

	*a = (struct access){.m = &mz_store_schema[table], .rows = rows};
	a->order = sort_rows(table, rows);
	failed = !a->order;
	for (size_t i = 0; i < a->m->n; i++)
		if (a->m->columns[i].type == MZ_STORE_TEXT && a->m->columns[i].from == MZ_STORE_OWN)
			failed |= !(a->texts[i] = find_texts(&rows->column[i], rows->n));
	return failed ? -ENOMEM : 0;
}

/* Reset after an error as well: the statement is kept for the next row. */
static int put_row(struct access *x, sqlite3_stmt *q, const struct mz_store_attempt *a, size_t row)
{
	int n = 0, code = SQLITE_OK;

	for (size_t i = 0; i < x->m->n && code == SQLITE_OK; i++) {
		const struct mz_store_column *c = &x->m->columns[i];
		const char *at = x->texts[i]		   ? x->texts[i][row]
				 : c->from == MZ_STORE_OWN ? x->rows->column[i].data + 8 * row
							   : NULL;

		if (mz_store_has(c, false))
			code = bind(q, ++n, c, a, &at);
	}
	if (code == SQLITE_OK && (code = sqlite3_step(q)) == SQLITE_DONE)
		code = SQLITE_OK;
	sqlite3_reset(q);
	return code;
}

static int sql_put(struct mz_store *s, unsigned shard, enum mz_store_table table,
		   const struct mz_store_attempt *a, const struct mz_store_rows *rows,
		   struct mz_error *err)
{
	sqlite3_stmt *q = prepare(s, table, err);
	struct access x;
	int code = SQLITE_OK, ret = 0;

	(void)shard;
	if (!q)
		return -EIO;
	if (access_open(&x, table, rows))
		ret = mz_fail_memory(err);
	for (size_t r = 0; r < rows->n && !ret && code == SQLITE_OK; r++)
		code = put_row(&x, q, a, x.order[r].row);
	if (code != SQLITE_OK)
		ret = fail(s, code, err);
	access_free(&x);
	return ret;
}

/* ---- queries -------------------------------------------------------------------- */

static int sql_ask(struct mz_store *s, unsigned shard, const char *sql, mz_store_row *row,
		   void *arg, struct mz_error *err)
{
	struct sqlite_state *t = s->state;
	sqlite3_stmt *q = NULL;
	char *cells[MZ_STORE_COLUMNS];
	int code = sqlite3_prepare_v2(t->db, sql, -1, &q, NULL), ret = 0;

	(void)shard;
	while (code == SQLITE_OK && !ret && (code = sqlite3_step(q)) == SQLITE_ROW) {
		int n = sqlite3_column_count(q);

		for (int i = 0; i < n && i < MZ_STORE_COLUMNS; i++) {
			cells[i] = (char *)sqlite3_column_text(q, i);
			if (!cells[i])
				cells[i] = (char *)"";
		}
		ret = row(arg, cells, (size_t)n);
		code = SQLITE_OK;
	}
	if (code != SQLITE_OK && code != SQLITE_DONE)
		ret = fail(s, code, err);
	else if (ret)
		ret = mz_store_row_failed(s, ret, err);
	sqlite3_finalize(q);
	return ret ? ret : check_frozen(s, err);
}

static int sql_run(struct mz_store *s, unsigned shard, const char *sql, struct mz_error *err)
{
	(void)shard;
	return execute(s, sql, err);
}

const struct mz_store_ops mz_store_sqlite = {
	.find = "instr",
	.final = "",
	.open = sql_open,
	.close = sql_close,
	.begin = sql_begin,
	.put = sql_put,
	.end = sql_end,
	.ask = sql_ask,
	.run = sql_run,
};
