// SPDX-License-Identifier: BSD-2-Clause
/* Build result tables whose columns carry their names and types. */
#include "analysis/result_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pair_index.h"

void mz_result_init(struct mz_result_table *a, const char *key, const char *title,
		    const struct mz_result_column *columns, size_t n_columns)
{
	*a = (struct mz_result_table){.key = key,
				      .title = title,
				      .columns = columns,
				      .n_columns = n_columns,
				      .strings = mz_tables_new()};
	a->failed = !a->strings;
}

void mz_result_deinit(struct mz_result_table *a)
{
	free(a->cells);
	free(a->own);
	mz_tables_free(a->strings);
	*a = (struct mz_result_table){0};
}

/* The table remembers a failure, so that a loop over rows need not pass it on. */
union mz_result_cell *mz_result_row(struct mz_result_table *a)
{
	size_t end = (a->rows + 1) * a->n_columns;
	union mz_result_cell *row;

	if (a->failed || !mz_array_room((void **)&a->cells, &a->cap, end, sizeof(*a->cells))) {
		a->failed = true;
		return NULL;
	}
	row = a->cells + a->rows++ * a->n_columns;
	memset(row, 0, a->n_columns * sizeof(*row));
	return row;
}

/* Texts repeat in most columns; equal ones are stored once. */
void mz_result_text(struct mz_result_table *a, union mz_result_cell *cell, const char *text)
{
	cell->number = 0;
	cell->text = mz_tables_string(a->strings, text, strlen(text));
	a->failed |= !cell->text;
}

const char *mz_result_get(const struct mz_result_table *a, size_t row, size_t column)
{
	const char *s =
		mz_tables_get_string(a->strings, a->cells[row * a->n_columns + column].text, NULL);

	return s ? s : "";
}

struct column_order {
	const struct mz_result_table *a;
	size_t column;
};

/* Rows with equal values are ordered by their texts, so that the output does not depend on hash
 * tables. */
static int compare(const void *x, const void *y, void *arg)
{
	const union mz_result_cell *p = x, *q = y;
	const struct column_order *o = arg;
	const struct mz_result_table *a = o->a;

	if (p[o->column].number != q[o->column].number)
		return p[o->column].number > q[o->column].number ? -1 : 1;
	for (size_t i = 0; i < a->n_columns; i++) {
		int c;

		if (a->columns[i].type != MZ_RESULT_TEXT)
			continue;
		c = strcmp(mz_tables_get_string(a->strings, p[i].text, NULL),
			   mz_tables_get_string(a->strings, q[i].text, NULL));
		if (c)
			return c;
	}
	return 0;
}

void mz_result_sort(struct mz_result_table *a, size_t column)
{
	struct column_order o = {a, column};

	/* shares are not negative, so that their bits are in the order of their values */
	if (a->rows > 1 && !a->failed)
		qsort_r(a->cells, a->rows, a->n_columns * sizeof(*a->cells), compare, &o);
}

/* ---- for users of the library ------------------------------------------------------- */

void mz_result_free(struct mz_result_table *t)
{
	if (t)
		mz_result_deinit(t);
	free(t);
}

size_t mz_result_rows(const struct mz_result_table *t)
{
	return t->rows;
}

size_t mz_result_columns(const struct mz_result_table *t)
{
	return t->n_columns;
}

const char *mz_result_name(const struct mz_result_table *t)
{
	return t->key;
}

const char *mz_result_heading(const struct mz_result_table *t)
{
	return t->title;
}

const char *mz_result_key(const struct mz_result_table *t, size_t column)
{
	return column < t->n_columns ? t->columns[column].key : NULL;
}

const char *mz_result_title(const struct mz_result_table *t, size_t column)
{
	return column < t->n_columns ? t->columns[column].title : NULL;
}

int mz_result_type_of(const struct mz_result_table *t, size_t column)
{
	return column < t->n_columns ? (int)t->columns[column].type : -EINVAL;
}

int mz_result_find(const struct mz_result_table *t, const char *key)
{
	for (size_t i = 0; key && i < t->n_columns; i++)
		if (!strcmp(t->columns[i].key, key))
			return (int)i;
	return -ENOENT;
}

/* NULL: there is no such cell, or it is of another type. */
static const union mz_result_cell *cell_of(const struct mz_result_table *t, size_t row,
					   size_t column, enum mz_result_type low,
					   enum mz_result_type high)
{
	if (row >= t->rows || column >= t->n_columns || t->columns[column].type < low ||
	    t->columns[column].type > high)
		return NULL;
	return &t->cells[row * t->n_columns + column];
}

uint64_t mz_result_number(const struct mz_result_table *t, size_t row, size_t column)
{
	const union mz_result_cell *c = cell_of(t, row, column, MZ_RESULT_COUNT, MZ_RESULT_BYTES);

	return c ? c->number : 0;
}

double mz_result_share(const struct mz_result_table *t, size_t row, size_t column)
{
	const union mz_result_cell *c = cell_of(t, row, column, MZ_RESULT_SHARE, MZ_RESULT_SHARE);

	return c ? c->share : 0;
}

const char *mz_result_string(const struct mz_result_table *t, size_t row, size_t column)
{
	return cell_of(t, row, column, MZ_RESULT_TEXT, MZ_RESULT_TEXT)
		       ? mz_result_get(t, row, column)
		       : "";
}
