/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks summed up by call site: the place in the program, below the functions of
 * allocators and containers, that wanted the memory. */
#ifndef MZ_ANALYSIS_CALL_SITES_H
#define MZ_ANALYSIS_CALL_SITES_H

#include "analysis/usage.h"
#include "symbols/user.h"

struct mz_events;

struct mz_call_site {
	uint64_t ip;
	char *where;  /* "function (file:line)", or "module+offset" */
	char *caller; /* of its most frequent stack; NULL = none */
	uint64_t caller_allocs;
	struct mz_usage_site sum;
};

struct mz_call_sites {
	struct mz_call_site *list;
	size_t count, cap;
};

/* Where stacks and names come from. */
struct mz_call_lookup {
	const uint64_t *(*stack)(const struct mz_call_lookup *l, uint32_t stack, size_t *depth);
	bool (*find)(const struct mz_call_lookup *l, uint64_t ip, struct mz_symbol *out);
	const struct mz_tables *tables; /* of a reader, with its symbols; or else */
	struct mz_symbols *symbols;
	struct mz_events *events;
};

struct mz_call_lookup mz_call_lookup_reader(const struct mz_tables *t, struct mz_symbols *symbols);
struct mz_call_lookup mz_call_lookup_events(struct mz_events *events);

/* "function (file:line)", "module+0x12" or "0x12"; the caller frees it. NULL = no memory. */
char *mz_call_describe(const struct mz_call_lookup *l, uint64_t ip);
/* The frame that stands for a stack: the first whose function does not allocate for others. */
size_t mz_call_place(const struct mz_call_lookup *l, const uint64_t *ips, size_t depth);

/* 0 or -ENOMEM; free it in both cases. */
int mz_call_sites_make(struct mz_call_sites *s, const struct mz_usage *u,
		       const struct mz_call_lookup *l);
/* The same for a reader that was read to its end, and the symbols of its program. */
int mz_call_sites_of_reader(struct mz_call_sites *s, const struct mz_usage *u,
			    const struct mz_tables *t, struct mz_symbols *symbols);
void mz_call_sites_free(struct mz_call_sites *s);

#endif
