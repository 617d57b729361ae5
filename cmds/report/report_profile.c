// SPDX-License-Identifier: BSD-2-Clause
/* Print the overview of a file that holds sums of call sites only: DHAT's, /proc/allocinfo. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/report/report.h"

/* Call sites as in a comparison with nothing: by function, the largest first. */
struct profile_report {
	const struct mz_profile *p;
	struct mz_early_end end;
	struct mz_diff d;
	size_t rows; /* 0 = all */
};

static bool shown(const struct profile_report *j, const struct mz_profile_value *v)
{
	return j->p->has & v->has && strncmp(v->name, "max_", 4) && strcmp(v->name, "lifetime");
}

static char *value_text(char *buf, const struct mz_profile_value *v, uint64_t x)
{
	return v->bytes ? console_bytes(buf, x) : console_count(buf, x);
}

static void show_sites(struct profile_report *j, const struct mz_profile_value *v)
{
	uint64_t total = mz_profile_get(v, &j->p->all);
	char a[32], name[160];

	if (!shown(j, v) || !total)
		return;
	mz_diff_sort(&j->d, v);
	printf("\nCall sites by %s\n", v->title);
	for (size_t i = 0; i < j->d.n && (!j->rows || i < j->rows); i++) {
		uint64_t x = mz_profile_get(v, &j->d.rows[i].a);

		if (x)
			printf("  %12s %5.1f%%  %s\n", value_text(a, v, x),
			       100.0 * (double)x / (double)total,
			       mz_printable(name, sizeof(name), j->d.rows[i].name,
					    strlen(j->d.rows[i].name)));
	}
}

static void show_text(struct profile_report *j)
{
	char a[32], name[256], text[256];

	if (j->p->command)
		printf("%-14s %s\n", "command",
		       mz_printable(name, sizeof(name), j->p->command, strlen(j->p->command)));
	printf("%-14s %s, sums only (%s)\n", "kind", mz_profile_kind_name(j->p->kind),
	       j->p->source);
	if (j->p->lost)
		printf("%-14s %s events; every figure below is too small\n", "LOST",
		       console_count(a, j->p->lost));
	if (j->end.files)
		printf("%-14s %s\n%-14s " EARLY_END_MEANS "\n", "CUT",
		       early_end_text(text, sizeof(text), &j->end), "");
	printf("%-14s %s\n", "stacks", console_count(a, j->p->nsites));
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (shown(j, &mz_profile_values[i]))
			printf("%-14s %s\n", mz_profile_values[i].name,
			       value_text(a, &mz_profile_values[i],
					  mz_profile_get(&mz_profile_values[i], &j->p->all)));
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (mz_profile_values[i].bytes || mz_profile_values[i].has == MZ_PROFILE_ACCESS)
			show_sites(j, &mz_profile_values[i]);
}

/* The names that the report on a trace has for the same values: in the summary, and in the list
 * of call sites; and the blocks that the list is about. */
static const struct names {
	const char *value, *summary, *list, *blocks;
} names[] = {
	{"bytes", "bytes", "churn", "blocks"},
	{"peak_bytes", "peak_bytes", "at_peak", "peak_blocks"},
	{"live_bytes", "never_freed_bytes", "never_freed", "live_blocks"},
	{"live_blocks", "never_freed_blocks", NULL, NULL},
	{"temporary", "temporary_blocks", "temporary", "blocks"},
	{"waste", "waste_bytes", "waste", "blocks"},
	{"peak_waste", "waste_at_peak", NULL, NULL},
	{"reads", "reads", "reads", "blocks"},
	{"writes", "writes", "writes", "blocks"},
};

static const struct names *names_of(const struct mz_profile_value *v)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].value, v->name))
			return &names[i];
	return NULL;
}

static void json_sites(struct profile_report *j, struct mz_json *out,
		       const struct mz_profile_value *v)
{
	const struct names *n = names_of(v);
	const struct mz_profile_value *blocks;

	if (!n || !n->list || !shown(j, v))
		return;
	blocks = mz_profile_find_value(n->blocks);
	mz_diff_sort(&j->d, v);
	mz_json_array(out, n->list);
	for (size_t k = 0; k < j->d.n && (!j->rows || k < j->rows); k++) {
		const struct mz_diff_row *row = &j->d.rows[k];

		if (!mz_profile_get(v, &row->a))
			continue;
		mz_json_object(out, NULL);
		mz_json_str(out, "where", row->name);
		if (shown(j, blocks))
			mz_json_u64(out, "blocks", mz_profile_get(blocks, &row->a));
		mz_json_u64(out, "value", mz_profile_get(v, &row->a));
		mz_json_end_object(out);
	}
	mz_json_end_array(out);
}

static void show_json(struct profile_report *j)
{
	struct mz_buf b = {0};
	struct mz_json out = {.out = &b};

	mz_json_object(&out, NULL);
	mz_json_str(&out, "kind", mz_recording_kind_name(MZ_RECORDING_SUMS));
	if (j->p->command)
		mz_json_str(&out, "command", j->p->command);
	mz_json_str(&out, "source", j->p->source);
	lost_json(&out, "lost", j->p->lost_by);
	early_end_json(&out, j->end.files);
	mz_json_u64(&out, "stacks", j->p->nsites);
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (shown(j, &mz_profile_values[i]))
			mz_json_u64(&out,
				    names_of(&mz_profile_values[i])
					    ? names_of(&mz_profile_values[i])->summary
					    : mz_profile_values[i].name,
				    mz_profile_get(&mz_profile_values[i], &j->p->all));
	mz_json_object(&out, "sites");
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		json_sites(j, &out, &mz_profile_values[i]);
	mz_json_end_object(&out);
	mz_json_end_object(&out);
	console_put(&b, stdout);
}

int report_profile(struct mz_recording *r, size_t rows, bool json)
{
	struct mz_profile nothing;
	struct mz_error err = {0};
	struct profile_report j = {.p = mz_recording_profile(r, &err), .rows = rows};
	int ret = j.p ? 0 : -EIO;

	j.end = mz_recording_early_end(r);

	if (!ret && mz_profile_init(&nothing) < 0)
		ret = mz_fail_memory(&err);
	if (!ret) {
		nothing.kind = j.p->kind;
		ret = mz_diff_make(&j.d, j.p, &nothing, MZ_COMPARE_FUNCTION, &err);
		mz_profile_deinit(&nothing);
	}
	if (ret < 0)
		console_error(&err);
	else if (json)
		show_json(&j);
	else
		show_text(&j);
	mz_diff_deinit(&j.d);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}
