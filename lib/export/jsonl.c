// SPDX-License-Identifier: BSD-2-Clause
/* Write tables as JSON lines, one object per row; unknown values are left out. */
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"
#include "export/table.h"

struct mz_jsonl_table {
	struct mz_output *out;
	const struct mz_column *columns;
	size_t n;
	struct mz_buf line;
};

static void *jsonl_open(struct mz_output *out, struct mz_error *err)
{
	struct mz_jsonl_table *t = mz_zalloc(sizeof(*t), err);

	if (t)
		t->out = out;
	return t;
}

/* Each line names its columns, so there is nothing to write before the first. */
static int jsonl_begin(void *state, const char *name, const struct mz_column *columns, size_t n,
		       struct mz_error *err)
{
	struct mz_jsonl_table *t = state;

	(void)name;
	(void)err;
	t->columns = columns;
	t->n = n;
	return 0;
}

static int jsonl_row(void *state, int table, const struct mz_cell *cells, struct mz_error *err)
{
	struct mz_jsonl_table *t = state;
	/* one object per line, and names from the trace as valid UTF-8: other parsers refuse the
	 * rest */
	struct mz_json j = {.out = &t->line, .flat = true};

	(void)table;
	t->line.len = 0;
	/* the line buffer is used again for each row, so rows cost no allocations */
	mz_json_object(&j, NULL);
	for (size_t i = 0; i < t->n; i++) {
		const char *name = t->columns[i].name;

		/* a missing member is how JSON says unknown; null would count as a value in some
		 * readers */
		if (!cells[i].known)
			continue;
		switch (t->columns[i].type) {
		case MZ_CELL_U64: mz_json_u64(&j, name, cells[i].n); break;
		case MZ_CELL_I64: mz_json_i64(&j, name, (int64_t)cells[i].n); break;
		case MZ_CELL_HEX: mz_json_hex(&j, name, cells[i].n); break;
		case MZ_CELL_TEXT: mz_json_strn(&j, name, cells[i].s, cells[i].n); break;
		}
	}
	mz_json_end_object(&j);
	if (t->line.failed)
		return mz_fail_memory(err);
	return mz_output_add(t->out, t->line.data, t->line.len, err);
}

static void jsonl_close(void *state)
{
	struct mz_jsonl_table *t = state;

	if (t)
		mz_buf_free(&t->line);
	free(t);
}

const struct mz_table_ops mz_jsonl_ops = {
	.open = jsonl_open, .begin = jsonl_begin, .row = jsonl_row, .close = jsonl_close};
