// SPDX-License-Identifier: BSD-2-Clause
/* Compare two recordings for a user of the library: the answer is a table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/diff.h"
#include "base/error.h"

#define BEFORE 3 /* columns before those of the values */

/* ---- the sums of a recording ------------------------------------------------------------- */

/* The usage that the questions share: events are read once. */
static int read_events(struct mz_analysis *a)
{
	int ret = mz_analysis_run(a);

	if (!ret && mz_profile_of_usage(&a->recording.profile, a->events, &a->usage) < 0) {
		mz_fail_memory(&a->error);
		ret = mz_analysis_break(a);
	}
	a->recording.read = !ret;
	return ret;
}

/* A comparison reads the map by function. The model of other questions is dropped for it, and the
 * next question reads the map again. */
static int read_map(struct mz_analysis *a)
{
	int ret = mz_analysis_check(a);

	if (!ret)
		ret = mz_analysis_again(a);
	if (!ret)
		a->compared = true;
	return ret;
}

/* A read error stays with the analysis: its sums are incomplete. */
static const struct mz_profile *profile_of(struct mz_analysis *a, struct mz_error *err)
{
	const struct mz_profile *p = NULL;
	int ret = 0;

	mz_analysis_begin(a);
	if (a->events && !(a->o.want & MZ_WANT_SUMS)) {
		mz_fail(err, ENODATA, "%s: it was opened without sums", a->paths[0]);
		return NULL;
	}
	if (a->events && !a->recording.read)
		ret = read_events(a);
	else if (a->recording.kind == MZ_RECORDING_KMAP && !a->recording.read)
		ret = read_map(a);
	if (!ret) {
		p = mz_recording_profile(&a->recording, &a->error);
		if (!p)
			mz_analysis_break(a);
	}
	if (!p)
		*err = a->error;
	return p;
}

/* ---- the table --------------------------------------------------------------------------- */

/* The table stores the names of its columns with its texts. */
static void add_column(struct mz_result_table *t, const struct mz_profile_value *v, char which)
{
	char key[64];
	uint32_t id;

	snprintf(key, sizeof(key), "%s_%c", v->name, which);
	id = mz_tables_string(t->strings, key, strlen(key));
	t->failed |= !id;
	t->own[t->n_columns++] = (struct mz_result_column){
		.key = id ? mz_tables_get_string(t->strings, id, NULL) : "",
		.title = v->title,
		.type = v->bytes ? MZ_RESULT_BYTES : MZ_RESULT_COUNT,
	};
}

/* Which values the table has depends on the two recordings, so its columns are made and not
 * constant. */
static int make_columns(struct mz_result_table *t, uint32_t has)
{
	static const struct mz_result_column first[BEFORE] = {
		{"place", "place", MZ_RESULT_TEXT},
		{"stacks_a", "call stacks in A", MZ_RESULT_COUNT},
		{"stacks_b", "call stacks in B", MZ_RESULT_COUNT},
	};

	mz_result_init(t, "changes", "changes", NULL, BEFORE);
	t->own = malloc((BEFORE + 2 * mz_profile_nvalues) * sizeof(*t->own));
	if (t->failed || !t->own)
		return -ENOMEM;
	memcpy(t->own, first, sizeof(first));
	for (size_t i = 0; i < mz_profile_nvalues; i++) {
		if (!(has & mz_profile_values[i].has))
			continue;
		add_column(t, &mz_profile_values[i], 'a');
		add_column(t, &mz_profile_values[i], 'b');
	}
	t->columns = t->own;
	return t->failed ? -ENOMEM : 0;
}

static void add_row(struct mz_result_table *t, uint32_t has, const struct mz_diff_row *from)
{
	union mz_result_cell *row = mz_result_row(t);
	size_t at = BEFORE;

	if (!row)
		return;
	mz_result_text(t, &row[0], from->name);
	row[1].number = from->stacks_a;
	row[2].number = from->stacks_b;
	for (size_t i = 0; i < mz_profile_nvalues; i++) {
		const struct mz_profile_value *v = &mz_profile_values[i];

		if (!(has & v->has))
			continue;
		row[at++].number = mz_profile_get(v, &from->a);
		row[at++].number = mz_profile_get(v, &from->b);
	}
}

/* The whole is one row without a name. A stack is in one function only, so its counts of stacks are
 * the sums over all functions. */
static int fill(struct mz_result_table *t, const struct mz_diff *d, bool whole)
{
	struct mz_diff_row all = {.name = "", .a = d->a, .b = d->b};

	if (make_columns(t, d->has) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < d->n && !whole; i++)
		add_row(t, d->has, &d->rows[i]);
	for (size_t i = 0; i < d->n; i++) {
		all.stacks_a += d->rows[i].stacks_a;
		all.stacks_b += d->rows[i].stacks_b;
	}
	if (whole)
		add_row(t, d->has, &all);
	return t->failed ? -ENOMEM : 0;
}

static int sort(struct mz_diff *d, const char *name, struct mz_error *err)
{
	const struct mz_profile_value *v = name ? mz_profile_find_value(name) : NULL;

	if (name && !v)
		return mz_fail(err, EINVAL, "there is no value '%s' to sort by", name);
	if (v && !(d->has & v->has))
		return mz_fail(err, ENODATA, "%s: the recordings do not both contain %s", name,
			       v->title);
	mz_diff_sort(d, v);
	return 0;
}

/* The whole is the same at every level, so any of them will do for it. */
static int compare(struct mz_analysis *a, struct mz_analysis *b,
		   const struct mz_compare_options *options, struct mz_result_table *t,
		   struct mz_error *err)
{
	struct mz_compare_options o = {0};
	const struct mz_profile *pa, *pb;
	struct mz_diff d = {0};
	int ret = options ? mz_analysis_take(&o, options, sizeof(o), err) : 0;

	if (!ret && o.reserved)
		ret = mz_fail_option(err);
	if (!ret && o.by >= MZ_COMPARE_BYS)
		ret = mz_fail(err, EINVAL, "there is no comparison by %u", o.by);
	if (ret < 0)
		return ret;
	pa = profile_of(a, err);
	pb = pa ? profile_of(b, err) : NULL;
	if (!pb)
		return -err->code;
	if (pa->kind != pb->kind)
		return mz_fail(
			err, EINVAL,
			"%s is %s, %s is %s: only recordings of the same kind can be compared",
			a->recording.name, mz_profile_kind_name(pa->kind), b->recording.name,
			mz_profile_kind_name(pb->kind));
	ret = mz_diff_make(&d, pa, pb, o.by == MZ_COMPARE_WHOLE ? MZ_COMPARE_FUNCTION : o.by, err);
	if (!ret)
		ret = sort(&d, o.sort, err);
	if (!ret && fill(t, &d, o.by == MZ_COMPARE_WHOLE) < 0)
		ret = mz_fail_memory(err);
	mz_diff_deinit(&d);
	return ret;
}

struct mz_result_table *mz_analysis_compare(struct mz_analysis *a, struct mz_analysis *b,
					    const struct mz_compare_options *options,
					    struct mz_error *err)
{
	struct mz_result_table *t = calloc(1, sizeof(*t));
	struct mz_error why = {0};
	int ret = t ? compare(a, b, options, t, &why) : mz_fail_memory(&why);

	return mz_analysis_hand_out(t, ret, &why, err);
}
