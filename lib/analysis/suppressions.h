/* SPDX-License-Identifier: BSD-2-Clause */
/* What runtimes never free on purpose. */
/*
 * Examples are buffers of stdio, locales, and the emergency pool of libstdc++. A rule is written as
 * for LeakSanitizer: "leak:PATTERN", found in the function, file or module of any frame; '*' stands
 * for anything, '^' and '$' for the ends. Several patterns with ';' between them match frames in
 * that order, innermost first.
 */
#ifndef MZ_ANALYSIS_SUPPRESSIONS_H
#define MZ_ANALYSIS_SUPPRESSIONS_H

#include "analysis/events.h"

struct mz_suppressions {
	char **rules;
	size_t n, cap;
};

/* The built-in rules. 0 or -ENOMEM; deinit in both cases. */
int mz_suppressions_init(struct mz_suppressions *s);
/* Rules from a file, one per line; '#' begins a comment. 0 or -errno with err set. */
int mz_suppressions_read(struct mz_suppressions *s, const char *path, struct mz_error *err);
void mz_suppressions_deinit(struct mz_suppressions *s);

/* Most frames match no pattern at all. A caller that sees the same frames in many stacks keeps
 * what they match, as a set of patterns, and names the frames of a stack only where a rule may
 * match. In a set, patterns may share a bit, so what may match need not. */
uint64_t mz_suppressions_matched(const struct mz_suppressions *s,
				 const struct mz_place_name *frames, size_t n);
bool mz_suppressions_may_match(const struct mz_suppressions *s, uint64_t matched);

/* The first rule that matches, without "leak:"; NULL = none does. Frames innermost first. */
const char *mz_suppressions_match(const struct mz_suppressions *s,
				  const struct mz_place_name *frames, size_t n);

#endif
