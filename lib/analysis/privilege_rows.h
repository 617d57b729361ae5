/* SPDX-License-Identifier: BSD-2-Clause */
/* The published measures as rows: of the bounds, and of each variant of a cut. */
#ifndef MZ_ANALYSIS_PRIVILEGE_ROWS_H
#define MZ_ANALYSIS_PRIVILEGE_ROWS_H

#include "analysis/privilege.h"

/* The sums beside single operations: those on data, and all. */
enum { MZ_SUM_DATA = MZ_CODE_OPS, MZ_SUM_TOTAL, MZ_SUMS };

/* "read", "write", "call", "return", "free", "data", "total". */
const char *mz_privilege_sum_name(int sum);
/* The operations of it, as bits. */
unsigned mz_privilege_sum_ops(int sum);

struct mz_privilege_row {
	const char *cut, *links; /* "" = does not apply */
	uint64_t domains;
	bool wx, live;
	uint64_t ps[MZ_SUMS];
	unsigned missing; /* bits of ops */
	double ecr;	  /* calls that leave their domain; < 0 = not known */
};

/* The least and the greatest: the others are compared with them. */
struct mz_privilege_bounds {
	uint64_t min[MZ_SUMS], mono[MZ_SUMS];
	unsigned min_missing, mono_missing;
};

void mz_privilege_bounds(struct mz_privilege *p, struct mz_privilege_bounds *b);

struct mz_privilege_measures {
	bool known, ratio, margin; /* PS; PSR; what is compared with the least */
	double psr, pmr1, pmr2;
	int64_t pm;
};

struct mz_privilege_measures mz_privilege_measure(const struct mz_privilege_bounds *b,
						  const struct mz_privilege_row *r, int sum);

typedef void mz_privilege_put(void *arg, const struct mz_privilege_row *r);

/* Rows of the bounds, and of a cut, one by one. A sum of more than 64 bits sets p->overflow and
 * ends them. 0 or -ENOMEM. */
void mz_privilege_bound_rows(struct mz_privilege *p, const struct mz_privilege_bounds *b,
			     mz_privilege_put *put, void *arg);
int mz_privilege_cut_rows(struct mz_privilege *p, const struct mz_cut *c, const char *name,
			  mz_privilege_put *put, void *arg);

/* The error for p->overflow. */
int mz_privilege_too_large(struct mz_error *err);

/* All of one level as a table of cut, links, wx, live, domains, op, ps and psr; what is not
 * known has no row. 0 or -errno with err set. */
int mz_privilege_table(struct mz_privilege *p, enum mz_cut_level level, struct mz_result_table *t,
		       struct mz_error *err);

#endif
