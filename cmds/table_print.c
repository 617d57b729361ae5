// SPDX-License-Identifier: BSD-2-Clause
/* Print result tables as text, JSON or CSV. */
#include "cmds/table_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"

#define MOST   16 /* columns */
#define WIDEST 56 /* of a text */

static const union mz_result_cell *cell_of(const struct mz_result_table *a, size_t row, size_t col)
{
	return &a->cells[row * a->n_columns + col];
}

static bool is_unknown(const struct mz_result_table *a, size_t row, size_t col)
{
	enum mz_result_type type = a->columns[col].type;

	return (type == MZ_RESULT_COUNT || type == MZ_RESULT_BYTES) &&
	       cell_of(a, row, col)->number == MZ_RESULT_UNKNOWN;
}

/* "os=linux branch=main" on one line, for text and spreadsheets; the caller frees it. In JSON
 * they are an object, which cannot be misread. */
static char *labels_as_words(const char *text)
{
	char *words = strdup(*text ? text + 1 : "");

	for (char *p = words; p && *p; p++)
		if (*p == '\n')
			*p = p[1] ? ' ' : '\0';
	return words;
}

/* One line, whatever the text contains; the end of a name tells more than its middle. */
static const char *show_text(const char *text, char *buf, size_t size)
{
	char cut[WIDEST + 8];
	size_t n = strlen(text);

	if (n > WIDEST)
		snprintf(cut, sizeof(cut), "%.*s...%s", WIDEST / 2 - 2, text,
			 text + n - WIDEST / 2 + 2);
	else
		snprintf(cut, sizeof(cut), "%s", text);
	return console_text(buf, size, cut);
}

static const char *show(const struct mz_result_table *a, size_t row, size_t col, char *buf,
			size_t size)
{
	const union mz_result_cell *c = cell_of(a, row, col);
	char *words;

	if (is_unknown(a, row, col))
		return "?";
	if (a->labels == col + 1) {
		words = labels_as_words(mz_result_get(a, row, col));
		show_text(words ? words : "", buf, size);
		free(words);
		return buf;
	}
	switch (a->columns[col].type) {
	case MZ_RESULT_COUNT: return console_count(buf, c->number);
	case MZ_RESULT_BYTES: return console_bytes(buf, c->number);
	case MZ_RESULT_SHARE: snprintf(buf, size, "%.1f%%", 100 * c->share); return buf;
	case MZ_RESULT_TEXT: break;
	}
	return show_text(mz_result_get(a, row, col), buf, size);
}

static size_t shown_rows(const struct mz_result_table *a, size_t top)
{
	return top && top < a->rows ? top : a->rows;
}

static void text_row(const struct mz_result_table *a, const int *width, size_t row, bool head)
{
	char buf[4 * WIDEST + 32];

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
	char buf[4 * WIDEST + 32];

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
		printf("  ... and %s more (--limit 0 shows all)\n",
		       console_count(buf, a->rows - rows));
}

/* "\nKEY=VALUE\nKEY=VALUE\n" as an object. */
static void json_labels(struct mz_json *j, const char *key, const char *text)
{
	mz_json_object(j, key);
	while (*text && *++text) {
		size_t n = strcspn(text, "\n"), equal = strcspn(text, "=\n");
		char *name = strndup(text, equal);

		equal += equal < n;
		mz_json_strn(j, name ? name : "", text + equal, n - equal);
		free(name);
		text += n;
	}
	mz_json_end_object(j);
}

/* As lost_json() writes it, where only the sum is known. */
static void json_lost(struct mz_json *j, const char *key, uint64_t lost)
{
	mz_json_object(j, key);
	mz_json_u64(j, "total", lost);
	mz_json_end_object(j);
}

void answer_json(struct mz_json *j, const struct mz_result_table *a, size_t top)
{
	mz_json_array(j, a->key);
	for (size_t r = 0; r < shown_rows(a, top); r++) {
		mz_json_object(j, NULL);
		for (size_t i = 0; i < a->n_columns; i++) {
			const char *key = a->columns[i].key;

			if (is_unknown(a, r, i))
				mz_json_null(j, key);
			else if (a->labels == i + 1)
				json_labels(j, key, mz_result_get(a, r, i));
			else if (a->columns[i].type == MZ_RESULT_TEXT)
				mz_json_str(j, key, mz_result_get(a, r, i));
			else if (a->columns[i].type == MZ_RESULT_SHARE)
				mz_json_double(j, key, cell_of(a, r, i)->share);
			else if (!strcmp(key, "lost"))
				json_lost(j, key, cell_of(a, r, i)->number);
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

static void csv_labels(const char *text)
{
	char *words = labels_as_words(text);

	csv_text(words ? words : "");
	free(words);
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
			if (is_unknown(a, r, i))
				continue;
			if (a->labels == i + 1)
				csv_labels(mz_result_get(a, r, i));
			else if (a->columns[i].type == MZ_RESULT_TEXT)
				csv_text(mz_result_get(a, r, i));
			else if (a->columns[i].type == MZ_RESULT_SHARE)
				printf("%.6g", cell_of(a, r, i)->share);
			else
				printf("%" PRIu64, cell_of(a, r, i)->number);
		}
		putchar('\n');
	}
}
