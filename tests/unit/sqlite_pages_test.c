// SPDX-License-Identifier: BSD-2-Clause
/* Databases that we write page by page: SQLite itself finds them sound, and reads back every
 * value. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "export/table.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/memorizer-sqlite-pages-XXXXXX";
static char path[64];
static struct mz_output out;
static struct mz_error err;
static void *state;

static const struct mz_column numbered[] = {
	{"event", MZ_CELL_U64, false}, {"n", MZ_CELL_I64, true}, {"s", MZ_CELL_TEXT, true}};
static const struct mz_column plain[] = {{"n", MZ_CELL_I64, true}, {"s", MZ_CELL_TEXT, false}};

static void begin(void)
{
	err = (struct mz_error){0};
	CHECK_EQ(mz_output_open(&out, path, true, &err), 0);
	state = mz_sqlite_ops.open(&out, &err);
	CHECK(state);
	CHECK_EQ(mz_sqlite_ops.begin(state, "a", numbered, 3, &err), 0);
	CHECK_EQ(mz_sqlite_ops.begin(state, "b", plain, 2, &err), 1);
}

static void end(void)
{
	CHECK_EQ(mz_sqlite_ops.end(state, &err), 0);
	mz_sqlite_ops.close(state);
	CHECK_EQ(mz_output_commit(&out, &err), 0);
}

static void row(int table, uint64_t number, const int64_t *n, const char *s, size_t len)
{
	struct mz_cell cells[3] = {
		{.known = true, .n = number},
		{.known = n, .n = n ? (uint64_t)*n : 0},
		{.known = s, .n = len, .s = s},
	};

	CHECK_EQ(mz_sqlite_ops.row(state, table, cells + table, &err), 0);
}

static sqlite3 *read_back(void)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;

	CHECK_EQ(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_EQ(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
	CHECK_EQ(sqlite3_step(s), SQLITE_ROW);
	CHECK(!strcmp((const char *)sqlite3_column_text(s, 0), "ok"));
	sqlite3_finalize(s);
	return db;
}

static sqlite3_stmt *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;

	CHECK_EQ(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	return s;
}

/* Around every number of bytes that a number or the number of a row takes. */
static void numbers(void)
{
	uint64_t at = 0;
	sqlite3_stmt *s;
	sqlite3 *db;
	int64_t v;

	begin();
	for (int bits = 0; bits < 64; bits++)
		for (int64_t d = -1; d <= 1; d++) {
			v = (int64_t)((1ull << bits) + (uint64_t)d);
			row(0, at += 1 + (1ull << bits >> 3), &v, NULL, 0);
			v = ~v;
			row(1, 0, &v, "", 0);
		}
	end();
	db = read_back();
	s = ask(db, "SELECT a.n, b.n, a.event, b.s, a.s FROM b, "
		    "(SELECT *, row_number() OVER (ORDER BY event) AS r FROM a) AS a "
		    "WHERE b.rowid = r ORDER BY r");
	at = 0;
	for (int bits = 0; bits < 64; bits++)
		for (int64_t d = -1; d <= 1; d++) {
			v = (int64_t)((1ull << bits) + (uint64_t)d);
			CHECK_EQ(sqlite3_step(s), SQLITE_ROW);
			CHECK_EQ(sqlite3_column_int64(s, 0), v);
			CHECK_EQ(sqlite3_column_int64(s, 1), ~v);
			CHECK_EQ(sqlite3_column_int64(s, 2), at += 1 + (1ull << bits >> 3));
			CHECK_EQ(sqlite3_column_type(s, 3), SQLITE_TEXT);
			CHECK_EQ(sqlite3_column_type(s, 4), SQLITE_NULL);
		}
	CHECK_EQ(sqlite3_step(s), SQLITE_DONE);
	sqlite3_finalize(s);
	sqlite3_close(db);
}

static char *long_text(size_t n, uint64_t seed)
{
	char *s = malloc(n + 1);

	for (size_t i = 0; s && i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		s[i] = (char)('a' + (seed >> 33) % 26);
	}
	return s;
}

/* A row of two tables for every length of from, from + step, ... up to a number of them. */
static void texts_of(size_t from, size_t step, unsigned n)
{
	sqlite3_stmt *s;
	sqlite3 *db;

	begin();
	for (unsigned i = 0; i < n; i++) {
		size_t len = from + i * step;
		char *text = long_text(len, i);

		row(0, i + 1, NULL, text, len);
		row(1, 0, &(int64_t){i}, text, len);
		free(text);
	}
	end();
	db = read_back();
	s = ask(db, "SELECT a.s, b.s, b.n FROM a, b WHERE event = b.rowid ORDER BY event");
	for (unsigned i = 0; i < n; i++) {
		size_t len = from + i * step;
		char *text = long_text(len, i);

		CHECK_EQ(sqlite3_step(s), SQLITE_ROW);
		CHECK_EQ(sqlite3_column_int64(s, 2), i);
		for (int c = 0; c < 2; c++) {
			const char *got = (const char *)sqlite3_column_text(s, c);

			CHECK_EQ(sqlite3_column_bytes(s, c), len);
			CHECK(got && !memcmp(got, text, len));
		}
		free(text);
	}
	CHECK_EQ(sqlite3_step(s), SQLITE_DONE);
	sqlite3_finalize(s);
	sqlite3_close(db);
}

/* Records that fill a page, or two, nearly or just not. */
static void long_texts(void)
{
	texts_of(4020, 1, 100);
	texts_of(8100, 1, 100);
	texts_of(1, 60000, 20);
}

/* So many leaves that the pages above them are full, and one more or less. */
static void levels(void)
{
	texts_of(10, 0, 0);
	texts_of(10, 0, 1);
	texts_of(10, 0, 20000);
	for (unsigned n = 500; n < 520; n++)
		texts_of(2100, 0, n);
	for (unsigned n = 1000; n < 1030; n += 3)
		texts_of(2100, 0, n);
}

/* A value that the schema promises. */
static void missing(void)
{
	struct mz_cell cells[2] = {{.known = true, .n = 1}};

	begin();
	CHECK_EQ(mz_sqlite_ops.row(state, 1, cells, &err), -EINVAL);
	CHECK(strstr(err.text, "a row of b has no s"));
	mz_sqlite_ops.close(state);
	mz_output_abort(&out);
}

int main(void)
{
	test_folder(folder, path, "x.db");
	RUN(numbers);
	RUN(long_texts);
	RUN(levels);
	RUN(missing);
	unlink(path);
	rmdir(folder);
	return test_end();
}
