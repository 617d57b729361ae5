// SPDX-License-Identifier: BSD-2-Clause
/* Read a table of functions, and find the function of an address. */
#include "analysis/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/input.h"

/* A kernel has 100,000; a file with more is not a table of functions. */
#define MOST (1u << 24)

void mz_functions_deinit(struct mz_functions *f)
{
	free(f->functions);
	free(f->parts);
	free(f->text);
	*f = (struct mz_functions){0};
}

static uint32_t add_text(struct mz_functions *f, const char *s)
{
	size_t n = strlen(s) + 1, at = f->text_len ? f->text_len : 1;

	if (n == 1)
		return 0;
	if (at + n > UINT32_MAX || !mz_array_room((void **)&f->text, &f->text_cap, at + n, 1))
		return UINT32_MAX;
	memcpy(f->text + at, s, n);
	f->text_len = at + n;
	return (uint32_t)at;
}

int mz_functions_add(struct mz_functions *f, const struct mz_code_function *part, const char *file)
{
	struct mz_function *to;
	struct mz_function_part *where;

	if (f->n >= MOST ||
	    !mz_array_room((void **)&f->functions, &f->cap, f->n, sizeof(*f->functions)) ||
	    !mz_array_room((void **)&f->parts, &f->cap_parts, f->n_parts, sizeof(*f->parts)))
		return -ENOMEM;
	to = &f->functions[f->n];
	to->name = add_text(f, part->name);
	to->file = add_text(f, file);
	if (to->name == UINT32_MAX || to->file == UINT32_MAX)
		return -ENOMEM;
	to->start = part->start;
	to->size = part->size;
	memcpy(to->ops, part->ops, sizeof(to->ops));
	f->missing |= part->missing;
	where = &f->parts[f->n_parts++];
	*where = (struct mz_function_part){part->start, part->size, (uint32_t)f->n++};
	return 0;
}

/* ---- one function of each name and file ------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
	const struct mz_function_part *x = a, *y = b;

	return MZ_ORDER(x->start, y->start) ?: MZ_ORDER(x->function, y->function);
}

static void add_part(struct mz_function *to, const struct mz_function *part)
{
	to->size += part->size;
	for (int op = 0; op < MZ_CODE_OPS; op++)
		to->ops[op] += part->ops[op];
}

/* The key of a function: its file and its name, with a byte between that neither has. */
static uint32_t number(struct mz_functions *f, struct mz_bytes_index *ix,
		       const struct mz_function *fn, char *key, size_t size)
{
	const char *file = mz_functions_text(f, fn->file), *name = mz_functions_text(f, fn->name);
	size_t n = strlen(file), k = strlen(name);

	if (n + k + 1 > size)
		return UINT32_MAX;
	memcpy(key, file, n);
	key[n] = '\n';
	memcpy(key + n + 1, name, k);
	return mz_bytes_index_put(ix, key, n + k + 1);
}

/* Bytes that do not count (calls of a profiler) make a function longer than its size, and
 * padding follows it. */
static uint64_t beyond(const struct mz_function_part *part)
{
	return part->size / 2 + 16;
}

/* A table of some functions says nothing about the code between them. In the table of a whole
 * kernel of 20,096 functions, all but two follow directly after the one before; of the functions
 * that a workload runs, half do. */
static bool is_dense(const struct mz_functions *f)
{
	size_t near = 0;

	for (size_t i = 1; i < f->n_parts; i++) {
		const struct mz_function_part *part = &f->parts[i - 1];

		near += f->parts[i].start - part->start <= part->size + beyond(part);
	}
	return 10 * (near + 1) >= 9 * f->n_parts;
}

/* Functions are numbered by address, so that results do not depend on the order of the file. */
int mz_functions_end(struct mz_functions *f)
{
	struct mz_function *merged = calloc(f->n ? f->n : 1, sizeof(*merged));
	struct mz_bytes_index ix = {0};
	char *key = malloc(MZ_LINE_MAX);
	size_t n = 0;
	int ret = merged && key ? 0 : -ENOMEM;

	if (f->n_parts)
		qsort(f->parts, f->n_parts, sizeof(*f->parts), by_start);
	for (size_t i = 0; !ret && i < f->n_parts; i++) {
		const struct mz_function *fn = &f->functions[f->parts[i].function];
		uint32_t at = number(f, &ix, fn, key, MZ_LINE_MAX);

		if (at == UINT32_MAX) {
			ret = -ENOMEM;
		} else if (at < n) {
			add_part(&merged[at], fn);
		} else {
			merged[n++] = *fn;
		}
		f->parts[i].function = at;
	}
	mz_bytes_index_deinit(&ix);
	free(key);
	if (ret) {
		free(merged);
		return ret;
	}
	free(f->functions);
	f->functions = merged;
	f->n = n;
	f->dense = is_dense(f);
	f->high = f->n_parts && f->parts[f->n_parts - 1].start >> 63;
	return 0;
}

/* Bytes behind a function and close to its end are its code, up to the next function. */
static bool is_in(const struct mz_functions *f, size_t i, uint64_t addr)
{
	uint64_t in = addr - f->parts[i].start;

	return in <= f->parts[i].size ||
	       (f->dense && in - f->parts[i].size <= beyond(&f->parts[i]));
}

uint32_t mz_functions_find(const struct mz_functions *f, uint64_t addr)
{
	size_t at = mz_array_not_above(f->parts, f->n_parts, sizeof(*f->parts),
				       offsetof(struct mz_function_part, start), addr);

	if (f->high && !(addr >> 63))
		return MZ_FUNCTION_NONE;
	return at && is_in(f, at - 1, addr) ? f->parts[at - 1].function : MZ_FUNCTION_NONE;
}

/* ---- CSV ------------------------------------------------------------------------------ */

enum function_column { NAME, FILE_, START, SIZE, COUNTS, COLUMNS = COUNTS + MZ_CODE_OPS };

static const char *const columns[COLUMNS] = {"name",  "file", "start",	"size", "read",
					     "write", "call", "return", "free"};

#define CELLS 32

/* Where each column is; false: one is not there. */
static bool read_head(char *cells[CELLS], size_t n, size_t at[COLUMNS], const char **lacks)
{
	for (int c = 0; c < COLUMNS; c++) {
		size_t i;

		for (i = 0; i < n && strcmp(cells[i], columns[c]); i++)
			;
		*lacks = columns[c];
		if (i == n)
			return false;
		at[c] = i;
	}
	return true;
}

static struct mz_cursor all_of(const char *s)
{
	return (struct mz_cursor){s, s + strlen(s)};
}

/* NULL, or the column whose value is wrong. An empty count is unknown. */
static const char *read_row(char *cells[CELLS], const size_t at[COLUMNS],
			    struct mz_code_function *fn)
{
	*fn = (struct mz_code_function){.name = mz_csv_plain(cells[at[NAME]])};
	if (!*fn->name)
		return columns[NAME];
	if (!mz_cursor_whole_hex(all_of(cells[at[START]]), &fn->start))
		return columns[START];
	if (!mz_cursor_whole_u64(all_of(cells[at[SIZE]]), &fn->size))
		return columns[SIZE];
	for (int op = 0; op < MZ_CODE_OPS; op++) {
		const char *cell = cells[at[COUNTS + op]];

		if (!*cell)
			fn->missing |= 1u << op;
		else if (!mz_cursor_whole_u64(all_of(cell), &fn->ops[op]))
			return columns[COUNTS + op];
	}
	return NULL;
}

static int read_line(struct mz_functions *f, const char *path, uint64_t line, char *cells[CELLS],
		     size_t n, const size_t at[COLUMNS], struct mz_error *err)
{
	struct mz_code_function fn;
	const char *wrong;

	for (int c = 0; c < COLUMNS; c++)
		if (at[c] >= n)
			return mz_fail_line(err, EINVAL, line, "%s: line %llu: it has no '%s'",
					    path, (unsigned long long)line, columns[c]);
	wrong = read_row(cells, at, &fn);
	if (wrong)
		return mz_fail_line(err, EINVAL, line,
				    "%s: line %llu: '%s' is not a number or empty", path,
				    (unsigned long long)line, wrong);
	return mz_functions_add(f, &fn, mz_csv_plain(cells[at[FILE_]])) < 0 ? mz_fail_memory(err)
									    : 0;
}

/* Arrays double. A packed table may have any number of rows. */
#define ROW_BYTES (2 * (sizeof(struct mz_function) + sizeof(struct mz_function_part)))

static int read_lines(struct mz_functions *f, struct mz_input *in, const char *path, char *room,
		      struct mz_error *err)
{
	size_t at[COLUMNS], n, len;
	char *cells[CELLS];
	const char *line, *lacks;
	uint64_t lines = 0;
	bool head = false;
	int ret;

	while ((ret = mz_input_line(in, &line, &len, err)) > 0) {
		lines++;
		if (!len)
			continue;
		n = mz_csv_split(line, len, room, cells, CELLS);
		if (!n)
			return mz_fail_line(err, EINVAL, lines, "%s: line %llu: it is not CSV",
					    path, (unsigned long long)lines);
		if (!mz_mem_take(&in->budget, ROW_BYTES))
			return mz_fail_line(err, EFBIG, lines,
					    "%s: line %llu: more rows than a file of this size "
					    "may have",
					    path, (unsigned long long)lines);
		if (head)
			ret = read_line(f, path, lines, cells, n, at, err);
		else if (!read_head(cells, n, at, &lacks))
			ret = mz_fail_line(err, EINVAL, lines,
					   "%s: not a table of functions: its first line has no "
					   "column '%s'; 'memorizer kmap functions' writes one",
					   path, lacks);
		if (ret < 0)
			return ret;
		head = true;
	}
	return ret;
}

int mz_functions_read(struct mz_functions *f, const char *path, struct mz_error *err)
{
	char *room = malloc(MZ_LINE_MAX + CELLS + 1);
	struct mz_input in;
	int ret;

	*f = (struct mz_functions){0};
	if (!room)
		return mz_fail_memory(err);
	ret = mz_input_open(&in, path, err);
	if (ret >= 0) {
		ret = mz_input_unpack(&in, err);
		if (ret >= 0)
			ret = read_lines(f, &in, path, room, err);
		mz_input_close(&in);
	}
	free(room);
	if (ret < 0)
		return ret;
	if (!f->n)
		return mz_fail(err, EINVAL, "%s: the table contains no function", path);
	return mz_functions_end(f) < 0 ? mz_fail_memory(err) : 0;
}
