// SPDX-License-Identifier: BSD-2-Clause
/* An SQLite database with all tables, written by SQLite itself into the output's
 * temporary file. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "export/table.h"

/* More than there are: mz_table_names. */
#define TABLES 8

/* What is bound to a parameter: it stays from row to row. */
struct bound {
	bool null;
	uint32_t same;	    /* of a text: as in struct mz_cell */
	struct mz_buf text; /* which SQLite reads where it is */
};

struct mz_sqlite_table {
	sqlite3 *db;
	const char *path; /* of the output, for messages */
	sqlite3_stmt *insert[TABLES];
	const struct mz_column *columns[TABLES];
	size_t ncolumns[TABLES];
	struct bound bound[TABLES][MZ_COLUMNS_MAX];
	int n;
};

/* By the code that a call gave: the database does not know of all that failed. */
static int fail(const struct mz_sqlite_table *t, int code, struct mz_error *err)
{
	code &= 0xff;
	if (code == SQLITE_NOMEM)
		return mz_fail_memory(err);
	return mz_fail(err, code == SQLITE_FULL ? ENOSPC : EIO, "%s: cannot write: %s", t->path,
		       sqlite3_errmsg(t->db));
}

/* For statements without results. */
static int execute(const struct mz_sqlite_table *t, const char *sql, struct mz_error *err)
{
	int code = sqlite3_exec(t->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : fail(t, code, err);
}

static void sql_close(void *state)
{
	struct mz_sqlite_table *t = state;

	if (!t)
		return;
	for (int i = 0; i < t->n; i++)
		sqlite3_finalize(t->insert[i]);
	sqlite3_close(t->db);
	for (int i = 0; i < TABLES * MZ_COLUMNS_MAX; i++)
		mz_buf_free(&t->bound[i / MZ_COLUMNS_MAX][i % MZ_COLUMNS_MAX].text);
	free(t);
}

static void *sql_open(struct mz_output *out, struct mz_error *err)
{
	/* the file is private until it is renamed: no journal, no waiting for the disk */
	static const char setup[] =
		"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
		"PRAGMA locking_mode=EXCLUSIVE; PRAGMA application_id=1296714053; BEGIN";
	struct mz_sqlite_table *t = calloc(1, sizeof(*t));
	int code;

	if (!t) {
		mz_fail_memory(err);
		return NULL;
	}
	t->path = out->file.path;
	if (!out->file.part) {
		mz_fail(err, EINVAL, "%s: a database needs a file; name one with -o FILE",
			out->file.path);
	} else {
		code = sqlite3_open_v2(out->file.part, &t->db,
				       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
		if (code != SQLITE_OK)
			fail(t, code, err);
		else if (!execute(t, setup, err))
			return t;
	}
	sql_close(t);
	return NULL;
}

/* Integers have one type in SQLite; a column that may be unknown allows NULL. */
static int sql_begin(void *state, const char *name, const struct mz_column *columns, size_t n,
		     struct mz_error *err)
{
	struct mz_sqlite_table *t = state;
	struct mz_buf create = {0}, insert = {0};
	int ret, code;

	mz_buf_printf(&create, "CREATE TABLE \"%s\" (", name);
	mz_buf_printf(&insert, "INSERT INTO \"%s\" VALUES (", name);
	for (size_t i = 0; i < n; i++) {
		/* the first column of events numbers its rows */
		bool key = !i && !strcmp(columns[i].name, "event");

		mz_buf_printf(&create, "%s\"%s\" %s%s", i ? ", " : "", columns[i].name,
			      columns[i].type == MZ_CELL_TEXT ? "TEXT" : "INTEGER",
			      key		    ? " PRIMARY KEY"
			      : columns[i].optional ? ""
						    : " NOT NULL");
		mz_buf_str(&insert, i ? ",?" : "?");
	}
	mz_buf_add(&create, ")", 2);
	mz_buf_add(&insert, ")", 2);
	if (create.failed || insert.failed || t->n == TABLES) {
		mz_buf_free(&create);
		mz_buf_free(&insert);
		return mz_fail_memory(err);
	}
	ret = execute(t, create.data, err);
	if (!ret) {
		code = sqlite3_prepare_v2(t->db, insert.data, -1, &t->insert[t->n], NULL);
		ret = code == SQLITE_OK ? 0 : fail(t, code, err);
	}
	mz_buf_free(&create);
	mz_buf_free(&insert);
	if (ret < 0)
		return ret;
	t->columns[t->n] = columns;
	t->ncolumns[t->n] = n;
	return t->n++;
}

/* A text that is the one of the row before is still bound. */
static int bind_text(struct bound *b, sqlite3_stmt *s, int at, const struct mz_cell *cell)
{
	if (cell->same && b->same == cell->same)
		return SQLITE_OK;
	b->same = cell->same;
	b->text.len = 0;
	mz_utf8_add(&b->text, cell->s, cell->n);
	return b->text.failed ? SQLITE_NOMEM
			      : sqlite3_bind_text64(s, at, b->text.data ? b->text.data : "",
						    b->text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind(struct bound *b, sqlite3_stmt *s, int at, const struct mz_column *c,
		const struct mz_cell *cell)
{
	if (!cell->known && b->null)
		return SQLITE_OK;
	b->null = !cell->known;
	if (cell->known && c->type == MZ_CELL_TEXT)
		return bind_text(b, s, at, cell);
	b->same = 0;
	return b->null ? sqlite3_bind_null(s, at) : sqlite3_bind_int64(s, at, (int64_t)cell->n);
}

/* All rows go into one transaction, which sql_end commits. */
static int sql_row(void *state, int table, const struct mz_cell *cells, struct mz_error *err)
{
	struct mz_sqlite_table *t = state;
	sqlite3_stmt *s = t->insert[table];
	int code;

	for (size_t i = 0; i < t->ncolumns[table]; i++) {
		code = bind(&t->bound[table][i], s, (int)i + 1, &t->columns[table][i], &cells[i]);
		if (code != SQLITE_OK)
			return fail(t, code, err);
	}
	code = sqlite3_step(s);
	if (code != SQLITE_DONE)
		return fail(t, code, err);
	sqlite3_reset(s);
	return 0;
}

/* Indexes are left to the user: which ones are worth their space depends on the questions. */
static int sql_end(void *state, struct mz_error *err)
{
	struct mz_sqlite_table *t = state;

	return execute(t, "COMMIT", err);
}

const struct mz_table_ops mz_sqlite_ops = {.many = true,
					   .open = sql_open,
					   .begin = sql_begin,
					   .row = sql_row,
					   .end = sql_end,
					   .close = sql_close};
