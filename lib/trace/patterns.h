/* SPDX-License-Identifier: BSD-2-Clause */
/* Each different pattern once, and how often it was met. */
#ifndef MZ_TRACE_PATTERNS_H
#define MZ_TRACE_PATTERNS_H

#include "trace/chunk.h"

#define MZ_PATTERN_NONE UINT32_MAX

struct mz_patterns {
	struct mz_pattern *v;
	uint32_t *count;
	uint32_t n;
	uint32_t cap;
	uint32_t *index; /* open addressing; 0 = empty, else number + 1 */
	uint32_t mask;
};

void mz_patterns_deinit(struct mz_patterns *p);
void mz_patterns_clear(struct mz_patterns *p);
size_t mz_patterns_memory(const struct mz_patterns *p);

/* The number of a pattern, which is added if it is new; MZ_PATTERN_NONE: no
 * memory. The count is the caller's. */
uint32_t mz_patterns_number(struct mz_patterns *p, const struct mz_pattern *pattern);

#endif
