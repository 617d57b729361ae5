/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to a question: a table whose columns say what they are, so that one
 * printer shows it as text, JSON or CSV. */
#ifndef MZ_ANALYSIS_RESULT_TABLE_H
#define MZ_ANALYSIS_RESULT_TABLE_H

#include <memorizer.h>

#define MZ_RESULT_UNKNOWN UINT64_MAX /* a number or bytes that are not known */

struct mz_result_column {
	const char *key;   /* in JSON and CSV */
	const char *title; /* in text */
	enum mz_result_type type;
};

union mz_result_cell {
	uint64_t number;
	double share;
	uint32_t text; /* of the answer's strings */
};

struct mz_result_table {
	const char *key, *title; /* of the whole */
	const struct mz_result_column *columns;
	size_t n_columns;
	struct mz_result_column *own; /* the same if the table owns them, else NULL */
	union mz_result_cell *cells;  /* row by row */
	size_t rows, cap;
	struct mz_tables *strings;
	size_t labels; /* from 1: a column of texts with a line KEY=VALUE each; 0 = none */
	bool failed;   /* memory ran out; sticky */
};

void mz_result_init(struct mz_result_table *a, const char *key, const char *title,
		    const struct mz_result_column *columns, size_t n_columns);
void mz_result_deinit(struct mz_result_table *a);

/* A new row of zeros; NULL = no memory (and failed). Valid until the next one. */
union mz_result_cell *mz_result_row(struct mz_result_table *a);
void mz_result_text(struct mz_result_table *a, union mz_result_cell *cell, const char *text);
const char *mz_result_get(const struct mz_result_table *a, size_t row, size_t column);
/* By a column of numbers, the greatest first, then by the texts: always the same order. */
void mz_result_sort(struct mz_result_table *a, size_t column);

#endif
