// SPDX-License-Identifier: BSD-2-Clause
/* Print result tables as text, JSON or CSV. */
#include "cmds/table_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/csv.h"

#define MOST   16 /* columns */
#define WIDEST 56 /* of a text */

static const union mz_result_cell *cell_of(const struct mz_result_table *a, size_t row, size_t col)
{
	return &a->cells[row * a->n_columns + col];
}

static const char *show(const struct mz_result_table *a, size_t row, size_t col, char *buf,
			size_t size)
{
	const union mz_result_cell *c = cell_of(a, row, col);
	const char *text;
	size_t n;

	switch (a->columns[col].type) {
	case MZ_RESULT_COUNT: return console_count(buf, c->number);
	case MZ_RESULT_BYTES: return console_bytes(buf, c->number);
	case MZ_RESULT_SHARE: snprintf(buf, size, "%.1f%%", 100 * c->share); return buf;
	case MZ_RESULT_TEXT: break;
	}
	text = mz_result_get(a, row, col);
	n = strlen(text);
	/* the end of a name tells more than its middle */
	if (n > WIDEST)
		snprintf(buf, size, "%.*s...%s", WIDEST / 2 - 2, text, text + n - WIDEST / 2 + 2);
	else
		snprintf(buf, size, "%s", text);
	return buf;
}

static size_t shown_rows(const struct mz_result_table *a, size_t top)
{
	return top && top < a->rows ? top : a->rows;
}

static void text_row(const struct mz_result_table *a, const int *width, size_t row, bool head)
{
	char buf[WIDEST + 32];

	for (size_t i = 0; i < a->n_columns; i++) {
		bool left = a->columns[i].type == MZ_RESULT_TEXT;
		const char *s = head ? a->columns[i].title : show(a, row, i, buf, sizeof(buf));

		if (left && i + 1 == a->n_columns)
			printf("  %s", s);
		else
			printf(left ? "  %-*s" : "  %*s", width[i], s);
	}
	printf("\n");
}

void answer_text(const struct mz_result_table *a, size_t top)
{
	size_t rows = shown_rows(a, top);
	int width[MOST] = {0};
	char buf[WIDEST + 32];

	printf("%s\n", a->title);
	if (!rows) {
		printf("  (none)\n");
		return;
	}
	for (size_t i = 0; i < a->n_columns && i < MOST; i++) {
		width[i] = (int)strlen(a->columns[i].title);
		for (size_t r = 0; r < rows; r++) {
			int n = (int)strlen(show(a, r, i, buf, sizeof(buf)));

			width[i] = n > width[i] ? n : width[i];
		}
	}
	text_row(a, width, 0, true);
	for (size_t r = 0; r < rows; r++)
		text_row(a, width, r, false);
	if (rows < a->rows)
		printf("  ... and %s more (--limit 0 shows all)\n", console_count(buf, a->rows - rows));
}

void answer_json(struct mz_json *j, const struct mz_result_table *a, size_t top)
{
	mz_json_array(j, a->key);
	for (size_t r = 0; r < shown_rows(a, top); r++) {
		mz_json_object(j, NULL);
		for (size_t i = 0; i < a->n_columns; i++) {
			const char *key = a->columns[i].key;

			if (a->columns[i].type == MZ_RESULT_TEXT)
				mz_json_str(j, key, mz_result_get(a, r, i));
			else if (a->columns[i].type == MZ_RESULT_SHARE)
				mz_json_double(j, key, cell_of(a, r, i)->share);
			else
				mz_json_u64(j, key, cell_of(a, r, i)->number);
		}
		mz_json_end_object(j);
	}
	mz_json_end_array(j);
}

static void csv_text(const char *s)
{
	struct mz_buf b = {0};

	mz_csv_add(&b, s, strlen(s));
	if (b.len)
		fwrite(b.data, 1, b.len, stdout);
	mz_buf_free(&b);
}

static void csv_head(const struct mz_result_table *a, const char *label)
{
	if (label)
		printf("%s,", label);
	for (size_t i = 0; i < a->n_columns; i++)
		printf("%s%s", i ? "," : "", a->columns[i].key);
	putchar('\n');
}

void answer_csv(const struct mz_result_table *a, size_t top, const char *label, bool first)
{
	if (first)
		csv_head(a, label);
	for (size_t r = 0; r < shown_rows(a, top); r++) {
		if (label)
			printf("%s,", a->key);
		for (size_t i = 0; i < a->n_columns; i++) {
			if (i)
				putchar(',');
			if (a->columns[i].type == MZ_RESULT_TEXT)
				csv_text(mz_result_get(a, r, i));
			else if (a->columns[i].type == MZ_RESULT_SHARE)
				printf("%.6g", cell_of(a, r, i)->share);
			else
				printf("%" PRIu64, cell_of(a, r, i)->number);
		}
		putchar('\n');
	}
}
