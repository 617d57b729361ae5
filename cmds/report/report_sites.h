/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks gathered into call sites: the place in the program, below the
 * allocators' and containers' own functions, that wanted the memory. */
#ifndef MZ_CMDS_REPORT_REPORT_SITES_H
#define MZ_CMDS_REPORT_REPORT_SITES_H

#include "analysis/usage.h"
#include "symbols/user.h"

struct report_site {
	uint64_t ip;
	char *where;  /* "function, file:line", or "module+offset" */
	char *caller; /* of its most frequent stack; NULL = none */
	uint64_t caller_allocs;
	struct mz_usage_site sum;
};

struct report_sites {
	struct report_site *list;
	size_t count, cap;
};

/* 0 or -ENOMEM. */
int report_sites_make(struct report_sites *s, const struct mz_usage *u, const struct mz_tables *t,
		      struct mz_symbols *symbols);
void report_sites_free(struct report_sites *s);

#endif
