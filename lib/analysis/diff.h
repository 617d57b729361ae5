/* SPDX-License-Identifier: BSD-2-Clause */
/* What changed from one recording to another, in all and by place; and budgets. */
#ifndef MZ_ANALYSIS_DIFF_H
#define MZ_ANALYSIS_DIFF_H

#include "analysis/profile.h"

/* How places of the two are matched: always by names, so that it does not matter
 * where a program was loaded. */
enum mz_diff_by {
	MZ_DIFF_FUNCTION, /* function and file of the call site */
	MZ_DIFF_LINE,	  /* and the line */
	MZ_DIFF_STACK,	  /* all functions of the call stack */
	MZ_DIFF_FILE,
	MZ_DIFF_MODULE,
	MZ_DIFF_OBJECT, /* KMAPs: cache, type or variable */
	MZ_DIFF_BYS
};

struct mz_diff_row {
	const char *name;
	struct mz_profile_sum a, b;
	bool in_a, in_b;
};

struct mz_diff {
	struct mz_profile_sum a, b; /* the whole */
	uint32_t has;		    /* known in both: enum mz_profile_has */
	struct mz_diff_row *rows;
	size_t n, cap;
	struct mz_tables *names; /* number - 1 is the row */
};

/* 0 or -errno with err set. Recordings of different kinds are an error. */
int mz_diff_make(struct mz_diff *d, const struct mz_profile *a, const struct mz_profile *b,
		 enum mz_diff_by by, struct mz_error *err);
void mz_diff_deinit(struct mz_diff *d);

/* By how much a value changed, the greatest change first; then by name. */
void mz_diff_sort(struct mz_diff *d, const struct mz_profile_value *v);

/* A value by its short name (peak, total, live, never_freed, ...) or its own. */
const struct mz_profile_value *mz_diff_value(const char *name, size_t len);

/* ---- budgets ------------------------------------------------------------ */

/*
 * [any] METRIC OP [+|-]NUMBER[%|B|KiB|MiB|GiB|TiB]
 *
 * OP is one of > >= < <= == !=. With a sign the change from A to B is meant,
 * without one the value of B. With % it is of the value of A. "any": of some row,
 * not of the whole.
 */
struct mz_budget {
	char text[96];
	const struct mz_profile_value *value;
	bool any;
	char op[3];
	bool change, percent;
	double limit;
};

/* One of a list with commas between; *text is moved behind it. 0 or -EINVAL with
 * err set. */
int mz_budget_parse(struct mz_budget *budget, const char **text, struct mz_error *err);

/* What the budget is about in these two; a percentage of nothing is infinite. */
double mz_budget_actual(const struct mz_budget *budget, uint64_t a, uint64_t b);
bool mz_budget_broken(const struct mz_budget *budget, uint64_t a, uint64_t b);

#endif
