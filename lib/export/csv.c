// SPDX-License-Identifier: BSD-2-Clause
/* Write tables as CSV (RFC 4180) with a header line; an unknown value is empty. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/utf8.h"
#include "export/table.h"

struct mz_csv_table {
	struct mz_output *out;
	const struct mz_column *columns;
	size_t n;
	struct mz_buf line, text;
};

static void *csv_open(struct mz_output *out, struct mz_error *err)
{
	struct mz_csv_table *t = mz_zalloc(sizeof(*t), err);

	if (t)
		t->out = out;
	return t;
}

/* RFC 4180 quotes a text with a comma, quote or line end, and doubles its quotes. */
static void put_text(struct mz_csv_table *t, const char *s, size_t n)
{
	t->text.len = 0;
	/* readers of CSV take the file as UTF-8, and a name from a trace may be any bytes */
	mz_utf8_add(&t->text, s, n);
	if (n)
		mz_csv_add(&t->line, t->text.data, t->text.len);
	else
		mz_buf_str(&t->line, "\"\""); /* an empty text is not an unknown one */
}

/* Errors of all cells of the line come out here: the buffers remember them. */
static int end_line(struct mz_csv_table *t, struct mz_error *err)
{
	mz_buf_str(&t->line, "\n");
	if (t->line.failed || t->text.failed)
		return mz_fail_memory(err);
	return mz_output_add(t->out, t->line.data, t->line.len, err);
}

static int csv_begin(void *state, const char *name, const struct mz_column *columns, size_t n,
		     struct mz_error *err)
{
	struct mz_csv_table *t = state;

	(void)name;
	t->columns = columns;
	t->n = n;
	t->line.len = 0;
	for (size_t i = 0; i < n; i++)
		mz_buf_printf(&t->line, "%s%s", i ? "," : "", columns[i].name);
	return end_line(t, err);
}

/* An unknown value is an empty field, which readers import as NULL. */
static int csv_row(void *state, int table, const struct mz_cell *cells, struct mz_error *err)
{
	struct mz_csv_table *t = state;

	(void)table;
	t->line.len = 0;
	for (size_t i = 0; i < t->n; i++) {
		if (i)
			mz_buf_str(&t->line, ",");
		if (!cells[i].known)
			continue;
		switch (t->columns[i].type) {
		case MZ_CELL_U64: mz_buf_printf(&t->line, "%" PRIu64, cells[i].n); break;
		case MZ_CELL_I64: mz_buf_printf(&t->line, "%" PRId64, (int64_t)cells[i].n); break;
		case MZ_CELL_HEX: mz_buf_printf(&t->line, "0x%" PRIx64, cells[i].n); break;
		case MZ_CELL_TEXT: put_text(t, cells[i].s, cells[i].n); break;
		}
	}
	return end_line(t, err);
}

static void csv_close(void *state)
{
	struct mz_csv_table *t = state;

	if (!t)
		return;
	mz_buf_free(&t->line);
	mz_buf_free(&t->text);
	free(t);
}

const struct mz_table_ops mz_csv_ops = {
	.open = csv_open, .begin = csv_begin, .row = csv_row, .close = csv_close};
