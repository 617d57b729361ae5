/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks summed by call site. */
/*
 * A call site is the place in the program, below the functions of allocators and containers, that
 * requested the memory. Function, file and line of a place are those of one frame, also where
 * functions were inlined into each other.
 */
#ifndef MZ_ANALYSIS_CALL_SITES_H
#define MZ_ANALYSIS_CALL_SITES_H

#include "analysis/events.h"
#include "analysis/suppressions.h"
#include "analysis/usage.h"
#include "analysis/wrappers.h"
#include "symbols/user.h"

/* What a row stands for: a source line, or a whole function, file, module or thread. */
enum mz_call_by { MZ_BY_SITE, MZ_BY_FUNCTION, MZ_BY_FILE, MZ_BY_MODULE, MZ_BY_THREAD };

struct mz_call_options {
	enum mz_call_by by;
	const struct mz_wrappers *wrappers;	    /* NULL: the built-in ones */
	const struct mz_suppressions *suppressions; /* NULL: none */
	bool backtraces;			    /* of each site's heaviest stack */
};

struct mz_call_site {
	uint64_t ip;
	char *where;	/* "function (file:line)", or "module+offset" */
	char *function; /* the same in parts; NULL = not known */
	char *file;	/* with its folders */
	char *module;
	char *caller;	 /* of its most frequent stack; NULL = none */
	char *backtrace; /* lines of "function (file:line)", innermost first; NULL = none */
	uint64_t caller_allocs;
	struct mz_heap_sum sum;
	uint64_t suppressed_blocks, suppressed_bytes; /* live, but not in the sum */
	/* inside */
	uint64_t heaviest;
	uint32_t stack; /* to be described; 0 = none */
};

struct mz_call_sites {
	struct mz_call_site *list;
	size_t count, cap;
	/* never freed on purpose: not in the sums of the sites */
	uint64_t suppressed_blocks, suppressed_bytes;
	/* inside: sites by their text */
	struct mz_tables *texts;
	uint32_t *by_text;
	size_t by_text_cap;
};

/* The source of stacks and names. */
struct mz_call_lookup {
	const uint64_t *(*stack)(const struct mz_call_lookup *l, uint32_t stack, size_t *depth);
	size_t (*names)(const struct mz_call_lookup *l, uint64_t ip,
			struct mz_place_name out[MZ_EVENTS_INLINED]);
	const struct mz_tables *tables; /* of a reader, with its symbols; or else */
	struct mz_symbols *symbols;
	struct mz_events *events;
};

struct mz_call_lookup mz_call_lookup_reader(const struct mz_tables *t, struct mz_symbols *symbols);
struct mz_call_lookup mz_call_lookup_events(struct mz_events *events);

/* "function (file:line)" of the frame that stands for a stack: the first, inlined ones too,
 * whose function does not allocate for others. The caller frees it. NULL = no memory. */
char *mz_call_describe(const struct mz_call_lookup *l, const uint64_t *ips, size_t depth,
		       const struct mz_wrappers *wrappers);

/* The rule by which the live blocks of a stack are suppressed; NULL = they are not. */
const char *mz_call_suppressed_by(const struct mz_call_lookup *l, const struct mz_suppressions *s,
				  const uint64_t *ips, size_t depth);

/* Adds the stacks of a program; those of several programs are merged by name. o may be NULL.
 * sites begin as all 0. 0 or -ENOMEM; free them in both cases. */
int mz_call_sites_add(struct mz_call_sites *s, const struct mz_usage *u,
		      const struct mz_call_lookup *l, const struct mz_call_options *o);
/* The same for a reader that was read to its end, and the symbols of its program. */
int mz_call_sites_of_reader(struct mz_call_sites *s, const struct mz_usage *u,
			    const struct mz_tables *t, struct mz_symbols *symbols,
			    const struct mz_call_options *o);
void mz_call_sites_free(struct mz_call_sites *s);

/* Puts the sites whose value is not 0 into order, which has room for all; the largest first. value:
 * the offset of a member of struct mz_heap_sum. How many these are. */
size_t mz_call_sites_rank(const struct mz_call_sites *s, size_t value,
			  const struct mz_call_site **order);

#endif
