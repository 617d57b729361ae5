// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/keys.h"

void mz_answer_init(struct mz_answer *a, const char *key, const char *title,
		    const struct mz_answer_column *columns, size_t n_columns)
{
	*a = (struct mz_answer){.key = key,
				.title = title,
				.columns = columns,
				.n_columns = n_columns,
				.strings = mz_tables_new()};
	a->failed = !a->strings;
}

void mz_answer_deinit(struct mz_answer *a)
{
	free(a->cells);
	mz_tables_free(a->strings);
	*a = (struct mz_answer){0};
}

union mz_answer_cell *mz_answer_row(struct mz_answer *a)
{
	size_t end = (a->rows + 1) * a->n_columns;
	union mz_answer_cell *row;

	if (a->failed || !mz_keys_room((void **)&a->cells, &a->cap, end, sizeof(*a->cells))) {
		a->failed = true;
		return NULL;
	}
	row = a->cells + a->rows++ * a->n_columns;
	memset(row, 0, a->n_columns * sizeof(*row));
	return row;
}

void mz_answer_text(struct mz_answer *a, union mz_answer_cell *cell, const char *text)
{
	cell->number = 0;
	cell->text = mz_tables_string(a->strings, text, strlen(text));
	a->failed |= !cell->text;
}

const char *mz_answer_get(const struct mz_answer *a, size_t row, size_t column)
{
	const char *s =
		mz_tables_get_string(a->strings, a->cells[row * a->n_columns + column].text, NULL);

	return s ? s : "";
}

struct order {
	const struct mz_answer *a;
	size_t column;
};

static int compare(const void *x, const void *y, void *arg)
{
	const union mz_answer_cell *p = x, *q = y;
	const struct order *o = arg;
	const struct mz_answer *a = o->a;

	if (p[o->column].number != q[o->column].number)
		return p[o->column].number > q[o->column].number ? -1 : 1;
	for (size_t i = 0; i < a->n_columns; i++) {
		int c;

		if (a->columns[i].type != MZ_ANSWER_TEXT)
			continue;
		c = strcmp(mz_tables_get_string(a->strings, p[i].text, NULL),
			   mz_tables_get_string(a->strings, q[i].text, NULL));
		if (c)
			return c;
	}
	return 0;
}

void mz_answer_sort(struct mz_answer *a, size_t column)
{
	struct order o = {a, column};

	/* shares are not negative, so that their bits are in the order of their values */
	if (a->rows > 1 && !a->failed)
		qsort_r(a->cells, a->rows, a->n_columns * sizeof(*a->cells), compare, &o);
}
