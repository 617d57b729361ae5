/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to a question: a table whose columns say what they are, so that one
 * printer shows it as text, JSON or CSV. */
#ifndef MZ_ANALYSIS_ANSWER_H
#define MZ_ANALYSIS_ANSWER_H

#include <memorizer.h>

enum mz_answer_type {
	MZ_ANSWER_TEXT, /* printable */
	MZ_ANSWER_COUNT,
	MZ_ANSWER_BYTES,
	MZ_ANSWER_SHARE, /* 0 to 1 */
};

struct mz_answer_column {
	const char *key;   /* in JSON and CSV */
	const char *title; /* in text */
	enum mz_answer_type type;
};

union mz_answer_cell {
	uint64_t number;
	double share;
	uint32_t text; /* of the answer's strings */
};

struct mz_answer {
	const char *key, *title; /* of the whole */
	const struct mz_answer_column *columns;
	size_t n_columns;
	union mz_answer_cell *cells; /* row by row */
	size_t rows, cap;
	struct mz_tables *strings;
	bool failed; /* memory ran out; sticky */
};

void mz_answer_init(struct mz_answer *a, const char *key, const char *title,
		    const struct mz_answer_column *columns, size_t n_columns);
void mz_answer_deinit(struct mz_answer *a);

/* A new row of zeros; NULL = no memory (and failed). Valid until the next one. */
union mz_answer_cell *mz_answer_row(struct mz_answer *a);
void mz_answer_text(struct mz_answer *a, union mz_answer_cell *cell, const char *text);
const char *mz_answer_get(const struct mz_answer *a, size_t row, size_t column);
/* By a column of numbers, the greatest first, then by the texts: always the same order. */
void mz_answer_sort(struct mz_answer *a, size_t column);

#endif
