/* SPDX-License-Identifier: BSD-2-Clause */
/* How far the call stacks of a recording reach, as its recorder counted. */
#ifndef MZ_TRACE_STACK_SHARE_H
#define MZ_TRACE_STACK_SHARE_H

#include <memorizer.h>

#include "base/json.h"

/* Allocations; see docs/format.md. */
struct mz_stack_share {
	uint64_t blocks, rooted, cut, guessed;
};

/* False: the recording has no such counts. */
bool mz_stack_share_read(const struct mz_reader *r, struct mz_stack_share *s);

/* An object "stacks" with the counts. */
void mz_stack_share_json(const struct mz_stack_share *s, struct mz_json *out);

/* Percent of the blocks whose stack is whole; never 100 while one is missing. */
double mz_stack_share_rooted(const struct mz_stack_share *s);

#endif
