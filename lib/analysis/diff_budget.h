/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory budgets, and the short names of what they limit. */
#ifndef MZ_ANALYSIS_DIFF_BUDGET_H
#define MZ_ANALYSIS_DIFF_BUDGET_H

#include "analysis/profile.h"

/* A value by its short name (peak, total, live, never_freed, ...) or its own. */
const struct mz_profile_value *mz_budget_value(const char *name, size_t len);

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

/* Parses one of a comma-separated list; *text moves behind it. 0 or -EINVAL with err set. */
int mz_budget_parse(struct mz_budget *budget, const char **text, struct mz_error *err);

/* The value of the budget in these two; a percentage of nothing is infinite. */
double mz_budget_actual(const struct mz_budget *budget, uint64_t a, uint64_t b);
bool mz_budget_broken(const struct mz_budget *budget, uint64_t a, uint64_t b);

/* All budgets of a list, appended to *list, which has *n and belongs to the caller in every case.
 * 0 or -errno with err set. */
int mz_budgets_parse(struct mz_budget **list, size_t *n, const char *text, struct mz_error *err);

#endif
