// SPDX-License-Identifier: BSD-2-Clause
/* Merge sorted lines and scopes into rows that each say everything up to the next one. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbols/image_build.h"

/* Where one sequence ends and the next begins, the beginning counts. */
static int by_at(const void *x, const void *y)
{
	const struct mz_image_line *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (!a->file != !b->file)
		return a->file ? 1 : -1;
	return MZ_ORDER(a->order, b->order);
}

/* Outer ranges before inner ones. */
static int by_range(const void *x, const void *y)
{
	const struct range *a = x, *b = y;

	return MZ_ORDER(a->lo, b->lo) ?: MZ_ORDER(b->hi, a->hi) ?: MZ_ORDER(a->depth, b->depth);
}

/* Where the innermost scope changes: a line with the scope in `line`. */
struct steps {
	struct mz_image_line *list;
	size_t n, cap;
};

static bool step(struct steps *s, uint32_t at, uint32_t scope)
{
	if (s->n && s->list[s->n - 1].at == at) {
		s->list[s->n - 1].line = scope;
		return true;
	}
	if (!mz_array_room((void **)&s->list, &s->cap, s->n, sizeof(*s->list)))
		return false;
	s->list[s->n++] = (struct mz_image_line){.at = at, .line = scope};
	return true;
}

static bool find_steps(const struct build *b, struct steps *s)
{
	struct range open[DEEPEST];
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; i <= b->n_ranges && ok; i++) {
		const struct range *r = i < b->n_ranges ? &b->ranges[i] : NULL;

		while (n && (!r || open[n - 1].hi <= r->lo) && ok) {
			n--;
			ok = step(s, open[n].hi, n ? open[n - 1].scope : MZ_IMAGE_NONE);
		}
		if (!r || n == DEEPEST)
			continue;
		ok = ok && step(s, r->lo, r->scope);
		open[n] = *r;
		/* a scope that is not nested properly ends with the scope around it */
		if (n && open[n].hi > open[n - 1].hi)
			open[n].hi = open[n - 1].hi;
		n++;
	}
	return ok;
}

static bool put_row(struct build *b, size_t *cap, struct mz_image_row row)
{
	struct mz_image *im = b->im;

	if (im->n_rows && im->rows[im->n_rows - 1].at == row.at)
		im->n_rows--;
	if (im->n_rows && im->rows[im->n_rows - 1].scope == row.scope &&
	    im->rows[im->n_rows - 1].file == row.file && im->rows[im->n_rows - 1].line == row.line)
		return true;
	if (!mz_array_room((void **)&im->rows, cap, im->n_rows, sizeof(row)))
		return false;
	im->rows[im->n_rows++] = row;
	return true;
}

bool mz_build_rows(struct build *b)
{
	struct steps s = {0};
	struct mz_image_row row = {.scope = MZ_IMAGE_NONE};
	size_t i = 0, k = 0, cap = 0;
	bool ok;

	if (b->lines)
		qsort(b->lines, b->n_lines, sizeof(*b->lines), by_at);
	if (b->ranges)
		qsort(b->ranges, b->n_ranges, sizeof(*b->ranges), by_range);
	ok = find_steps(b, &s);
	while (ok && (i < b->n_lines || k < s.n)) {
		if (k == s.n || (i < b->n_lines && b->lines[i].at <= s.list[k].at)) {
			row.at = b->lines[i].at;
			row.file = b->lines[i].file;
			row.line = b->lines[i++].line;
		} else {
			row.at = s.list[k].at;
			row.scope = s.list[k++].line;
		}
		ok = put_row(b, &cap, row);
	}
	free(s.list);
	return ok;
}

/* ---- the kernel's files ------------------------------------------------------------------------
 */

/* "/build/linux-6.12/mm/slub.c" -> "mm/slub.c": the folder that init/main.c is below
 * tells where the tree begins. A program's paths stay as they are. */
static const char main_c[] = "/init/main.c";

static size_t tree_root(const struct mz_image *im, char *root, size_t size)
{
	uint64_t start = mz_image_symbol(im, "start_kernel");
	struct mz_image_place p;
	size_t n, tail = sizeof(main_c) - 1;

	if (!start || !mz_image_find(im, start, &p) || !p.home)
		return 0;
	n = strlen(p.home);
	if (n < tail || n >= size || strcmp(p.home + n - tail, main_c))
		return 0;
	memcpy(root, p.home, n - tail + 1);
	return n - tail + 1; /* with its slash */
}

/* Names stay where they are; those that use them point behind the root. */
void mz_build_cut_root(struct mz_image *im)
{
	char root[4096];
	size_t n = tree_root(im, root, sizeof(root));
	const char *end = im->strings + im->n_strings;

	if (!n)
		return;
#define CUT(at)                                                                                    \
	do {                                                                                       \
		const char *s_ = im->strings + (at);                                               \
		if ((size_t)(end - s_) > n && !memcmp(s_, root, n))                                \
			(at) += (uint32_t)n;                                                       \
	} while (0)
	for (size_t i = 0; i < im->n_rows; i++)
		CUT(im->rows[i].file);
	for (size_t i = 0; i < im->n_scopes; i++) {
		CUT(im->scopes[i].call_file);
		CUT(im->scopes[i].home);
	}
	for (size_t i = 0; i < im->n_variables; i++)
		CUT(im->variables[i].file);
#undef CUT
}
