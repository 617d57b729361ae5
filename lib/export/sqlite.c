// SPDX-License-Identifier: BSD-2-Clause
/* Write an SQLite database with all tables. */
/*
 * Rows are encoded and put into pages here: SQLite's own INSERT takes several times as long, most
 * of it to interpret the statement again for each row.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "export/sqlite_pages.h"
#include "export/table.h"

/* More than there are in mz_table_names. */
#define TABLES	    8
#define APPLICATION 1296714053 /* distinguishes our databases from others */

/* A record begins with its own length and a type per value, at most 9 bytes each. */
#define HEAD_MOST (9 * (MZ_COLUMNS_MAX + 1))

/* Types of values; texts of n bytes have 13 + 2 * n. */
enum { TYPE_NULL = 0, TYPE_0 = 8, TYPE_1 = 9, TYPE_TEXT = 13 };

/* Texts of a column that were converted to UTF-8, by mz_cell.same. */
struct sql_texts {
	struct mz_buf bytes;
	struct sql_text {
		size_t at, n; /* n: plus 1; 0 = not yet */
	} * told;
	size_t cap;
};

struct sql_rows {
	const char *name;
	const struct mz_column *columns;
	size_t n;
	bool numbered; /* the first column is the number of the row */
	uint64_t rows;
	struct mz_sqlite_tree tree;
	struct sql_texts texts[MZ_COLUMNS_MAX];
};

struct mz_sqlite_table {
	struct mz_sqlite_pages pages;
	struct sql_rows table[TABLES];
	int n;
	struct mz_sqlite_tree schema;
	uint8_t head[HEAD_MOST];
	struct mz_buf record, text;
};

static void free_rows(struct sql_rows *r)
{
	mz_sqlite_tree_free(&r->tree);
	for (int i = 0; i < MZ_COLUMNS_MAX; i++) {
		mz_buf_free(&r->texts[i].bytes);
		free(r->texts[i].told);
	}
}

static void sql_close(void *state)
{
	struct mz_sqlite_table *t = state;

	if (!t)
		return;
	for (int i = 0; i < TABLES; i++)
		free_rows(&t->table[i]);
	mz_sqlite_tree_free(&t->schema);
	mz_buf_free(&t->record);
	mz_buf_free(&t->text);
	free(t);
}

/* The first page is written last, and a pipe cannot go back. */
static void *sql_open(struct mz_output *out, struct mz_error *err)
{
	struct mz_sqlite_table *t;

	if (!out->file.part) {
		mz_fail(err, EINVAL, "%s: a database needs a file; name one with -o FILE",
			out->file.path);
		return NULL;
	}
	t = mz_zalloc(sizeof(*t), err);
	if (!t)
		return NULL;
	t->schema.first = true;
	if (!mz_sqlite_pages_begin(&t->pages, out, err))
		return t;
	sql_close(t);
	return NULL;
}

static int sql_begin(void *state, const char *name, const struct mz_column *columns, size_t n,
		     struct mz_error *err)
{
	struct mz_sqlite_table *t = state;

	if (t->n == TABLES)
		return mz_fail_memory(err);
	t->table[t->n] = (struct sql_rows){.name = name,
					   .columns = columns,
					   .n = n,
					   .numbered = !strcmp(columns[0].name, "event")};
	return t->n++;
}

/* ---- records ---------------------------------------------------------------- */

/* The shortest form of a number, the highest byte first. There is room for eight bytes. */
static inline uint8_t *put_number(uint8_t *to, int64_t v, uint8_t *type)
{
	static const uint8_t bytes[] = {0, 1, 2, 3, 4, 6, 6, 8, 8};
	static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 5, 6, 6};
	unsigned least;
	uint64_t high;

	if (v == 0 || v == 1) {
		*type = v ? TYPE_1 : TYPE_0;
		return to;
	}
	/* one bit more than the number has, for its sign */
	least = (72 - (unsigned)__builtin_clzll((uint64_t)(v < 0 ? ~v : v) | 1)) / 8;
	*type = types[least];
	high = htobe64((uint64_t)v << (64 - 8 * bytes[least]));
	memcpy(to, &high, sizeof(high));
	return to + bytes[least];
}

/* The text of a cell as UTF-8; NULL = no memory. A text that the column has already is not
 * converted again. */
static const char *text_of(struct mz_sqlite_table *t, struct sql_texts *c,
			   const struct mz_cell *cell, size_t *n)
{
	struct mz_buf *to = cell->same ? &c->bytes : &t->text;
	size_t at;

	if (cell->same && cell->same < c->cap && c->told[cell->same].n) {
		*n = c->told[cell->same].n - 1;
		return c->bytes.data + c->told[cell->same].at;
	}
	if (!cell->same)
		to->len = 0;
	at = to->len;
	mz_utf8_add(to, cell->s, cell->n);
	*n = to->len - at;
	if (!mz_buf_room(to, 1) || /* an empty text has a place, too */
	    (cell->same &&
	     !mz_array_room((void **)&c->told, &c->cap, cell->same, sizeof(*c->told))))
		return NULL;
	if (cell->same)
		c->told[cell->same] = (struct sql_text){at, *n + 1};
	return to->data + at;
}

/* A row lacks a value that its column requires: readers could not trust the schema. */
static int is_missing(const struct mz_sqlite_table *t, const struct sql_rows *r, size_t i,
		      struct mz_error *err)
{
	return mz_fail(err, EINVAL, "%s: cannot write: a row of %s has no %s",
		       t->pages.out->file.path, r->name, r->columns[i].name);
}

/* The values are written behind room for the longest head; the head is then copied directly before
 * them. */
static bool has_room(struct mz_sqlite_table *t, size_t used, size_t more)
{
	t->record.len = 0;
	return mz_buf_room(&t->record, used + more + 8 * MZ_COLUMNS_MAX);
}

/* The record of a row in t->record, from *from on; 0 or -errno. */
static int make_record(struct mz_sqlite_table *t, struct sql_rows *r, const struct mz_cell *cells,
		       size_t *from, struct mz_error *err)
{
	uint8_t *type = t->head, *to;
	uint8_t length[9];
	size_t n;

	if (!has_room(t, HEAD_MOST, 0))
		return mz_fail_memory(err);
	to = (uint8_t *)t->record.data + HEAD_MOST;
	for (size_t i = 0; i < r->n; i++) {
		/* the number of a row is not in its record */
		if (!cells[i].known || (r->numbered && !i)) {
			if (!cells[i].known && !r->columns[i].optional)
				return is_missing(t, r, i, err);
			*type++ = TYPE_NULL;
		} else if (r->columns[i].type != MZ_CELL_TEXT) {
			to = put_number(to, (int64_t)cells[i].n, type++);
		} else {
			const char *s = text_of(t, &r->texts[i], &cells[i], &n);
			size_t used = (size_t)(to - (uint8_t *)t->record.data);

			if (!s || !has_room(t, used, n))
				return mz_fail_memory(err);
			to = (uint8_t *)t->record.data + used;
			memcpy(to, s, n);
			to += n;
			type += mz_sqlite_varint(type, TYPE_TEXT + 2 * n);
		}
	}
	t->record.len = (size_t)(to - (uint8_t *)t->record.data);
	n = (size_t)(type - t->head);
	/* the length of the head counts itself: one byte, or two from 127 on */
	*from = HEAD_MOST - n - mz_sqlite_varint(length, n + (n < 127 ? 1 : 2));
	memcpy(t->record.data + *from, length, HEAD_MOST - n - *from);
	memcpy(t->record.data + HEAD_MOST - n, t->head, n);
	return 0;
}

static int sql_row(void *state, int table, const struct mz_cell *cells, struct mz_error *err)
{
	struct mz_sqlite_table *t = state;
	struct sql_rows *r = &t->table[table];
	size_t from;
	int ret = make_record(t, r, cells, &from, err);

	if (ret < 0)
		return ret;
	r->rows++;
	return mz_sqlite_tree_add(&t->pages, &r->tree, r->numbered ? cells[0].n : r->rows,
				  t->record.data + from, t->record.len - from, err);
}

/* ---- the schema -------------------------------------------------------------- */

/* Integers have one type in SQLite; a column that may be unknown allows NULL. */
static void put_create(const struct sql_rows *r, struct mz_buf *sql)
{
	mz_buf_printf(sql, "CREATE TABLE \"%s\" (", r->name);
	for (size_t i = 0; i < r->n; i++)
		mz_buf_printf(sql, "%s\"%s\" %s%s", i ? ", " : "", r->columns[i].name,
			      r->columns[i].type == MZ_CELL_TEXT ? "TEXT" : "INTEGER",
			      !i && r->numbered	       ? " PRIMARY KEY"
			      : r->columns[i].optional ? ""
						       : " NOT NULL");
	mz_buf_str(sql, ")");
}

static struct mz_cell bytes(const char *s, size_t n)
{
	return (struct mz_cell){.known = true, .n = n, .s = s};
}

/* The row of a table in the schema. */
static int put_table(struct mz_sqlite_table *t, int i, uint32_t root, struct mz_error *err)
{
	static const struct mz_column columns[] = {
		{"type", MZ_CELL_TEXT, false},	   {"name", MZ_CELL_TEXT, false},
		{"tbl_name", MZ_CELL_TEXT, false}, {"rootpage", MZ_CELL_U64, false},
		{"sql", MZ_CELL_TEXT, false},
	};
	struct sql_rows schema = {.columns = columns, .n = sizeof(columns) / sizeof(*columns)};
	const char *name = t->table[i].name;
	struct mz_cell cells[] = {
		bytes("table", 5),
		bytes(name, strlen(name)),
		bytes(name, strlen(name)),
		{.known = true, .n = root},
		{0},
	};
	struct mz_buf sql = {0};
	size_t from;
	int ret;

	put_create(&t->table[i], &sql);
	cells[4] = bytes(sql.data, sql.len);
	ret = sql.failed ? mz_fail_memory(err) : make_record(t, &schema, cells, &from, err);
	if (!ret)
		ret = mz_sqlite_tree_add(&t->pages, &t->schema, (uint64_t)i + 1,
					 t->record.data + from, t->record.len - from, err);
	mz_buf_free(&sql);
	return ret;
}

/* Indexes are left to the user: which ones are worth their space depends on the questions. */
static int sql_end(void *state, struct mz_error *err)
{
	struct mz_sqlite_table *t = state;
	int ret = 0;

	for (int i = 0; i < t->n && !ret; i++) {
		uint32_t root;

		ret = mz_sqlite_tree_end(&t->pages, &t->table[i].tree, &root, err);
		if (!ret)
			ret = put_table(t, i, root, err);
	}
	return ret ? ret : mz_sqlite_pages_end(&t->pages, &t->schema, APPLICATION, err);
}

const struct mz_table_ops mz_sqlite_ops = {.many = true,
					   .open = sql_open,
					   .begin = sql_begin,
					   .row = sql_row,
					   .end = sql_end,
					   .close = sql_close};
