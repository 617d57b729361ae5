// SPDX-License-Identifier: BSD-2-Clause
/* Match the call sites of two recordings by name and compute the changes. */
#include "analysis/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base_name.h"
#include "base/error.h"

static void put_frame(struct mz_buf *b, const struct mz_frame *f, bool line)
{
	mz_buf_str(b, f->name);
	if (f->file && line && f->line)
		mz_buf_printf(b, " (%s:%u)", mz_base_name(f->file), f->line);
	else if (f->file)
		mz_buf_printf(b, " (%s)", mz_base_name(f->file));
}

/* The name is the key of the comparison, so it contains nothing that differs between two runs
 * of a program, such as addresses. */
static void put_name(struct mz_buf *b, const struct mz_profile *p, const struct mz_profile_site *s,
		     enum mz_compare_by by)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(p, s, &depth);
	struct mz_frame f;

	b->len = 0;
	if (by == MZ_COMPARE_STACK) {
		while (depth--) {
			mz_buf_str(b, mz_profile_get_frame(p, (uint32_t)frames[depth]).name);
			mz_buf_str(b, depth ? ";" : "");
		}
		return;
	}
	f = mz_profile_get_frame(
		p, (uint32_t)frames[by == MZ_COMPARE_OBJECT ? depth - 1 : mz_profile_place(p, s)]);
	if (by == MZ_COMPARE_FILE)
		mz_buf_str(b, f.file ? f.file : f.module ? f.module : "?");
	else if (by == MZ_COMPARE_MODULE)
		mz_buf_str(b, f.module ? f.module : "?");
	else
		put_frame(b, &f, by == MZ_COMPARE_LINE);
}

/* Interned names are numbered in order, so the number is the row. */
static struct mz_diff_row *row_of(struct mz_diff *d, const struct mz_buf *name)
{
	uint32_t id = mz_tables_string(d->names, name->data, name->len);
	size_t len;

	if (!id)
		return NULL;
	if (id > d->n) {
		if (!mz_array_room((void **)&d->rows, &d->cap, d->n, sizeof(*d->rows)))
			return NULL;
		d->rows[d->n++] =
			(struct mz_diff_row){.name = mz_tables_get_string(d->names, id, &len)};
	}
	return &d->rows[id - 1];
}

static int add_all(struct mz_diff *d, const struct mz_profile *p, enum mz_compare_by by,
		   bool second)
{
	struct mz_buf name = {0};
	int ret = 0;

	for (size_t i = 0; i < p->nsites && !ret; i++) {
		struct mz_diff_row *row;

		put_name(&name, p, &p->sites[i], by);
		row = name.failed ? NULL : row_of(d, &name);
		if (!row) {
			ret = -ENOMEM;
			break;
		}
		mz_heap_sum_add(second ? &row->b : &row->a, &p->sites[i].sum);
		++*(second ? &row->stacks_b : &row->stacks_a);
	}
	mz_buf_free(&name);
	return ret;
}

/* Only values that both recordings have are compared: one that is missing on one side would look
 * like a change. */
int mz_diff_make(struct mz_diff *d, const struct mz_profile *a, const struct mz_profile *b,
		 enum mz_compare_by by, struct mz_error *err)
{
	*d = (struct mz_diff){.a = a->all, .b = b->all, .has = a->has & b->has};
	if (a->clock != b->clock)
		d->has &= ~(uint32_t)MZ_PROFILE_LIFETIME; /* not in the same unit */
	if (a->kind != b->kind)
		return mz_fail(
			err, EINVAL,
			"the first is %s, the second is %s: only recordings of the same kind "
			"can be compared",
			mz_profile_kind_name(a->kind), mz_profile_kind_name(b->kind));
	if (by == MZ_COMPARE_OBJECT && a->kind != MZ_PROFILE_KMAP)
		return mz_fail(err, EINVAL,
			       "only KMAPs have objects, and these are %s; use --by function, "
			       "line, stack, file or module",
			       mz_profile_kind_name(a->kind));
	d->names = mz_tables_new();
	if (!d->names || add_all(d, a, by, false) < 0 || add_all(d, b, by, true) < 0)
		return mz_fail_memory(err);
	return 0;
}

void mz_diff_deinit(struct mz_diff *d)
{
	mz_tables_free(d->names);
	free(d->rows);
	*d = (struct mz_diff){0};
}

static uint64_t distance(const struct mz_profile_value *v, const struct mz_diff_row *r)
{
	uint64_t a = mz_profile_get(v, &r->a), b = mz_profile_get(v, &r->b);

	return a > b ? a - b : b - a;
}

/* By the amount, whatever its sign: a saving is as interesting as a growth. */
static int by_change(const void *x, const void *y, void *value)
{
	uint64_t a = value ? distance(value, x) : 0, b = value ? distance(value, y) : 0;

	if (a != b)
		return a < b ? 1 : -1;
	return strcmp(((const struct mz_diff_row *)x)->name, ((const struct mz_diff_row *)y)->name);
}

void mz_diff_sort(struct mz_diff *d, const struct mz_profile_value *v)
{
	if (d->n)
		qsort_r(d->rows, d->n, sizeof(*d->rows), by_change, (void *)v);
}
