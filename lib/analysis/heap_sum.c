// SPDX-License-Identifier: BSD-2-Clause
/* Add the sums of places that allocate. */
#include "analysis/heap_sum.h"

static void add(uint64_t *to, uint64_t from)
{
	*to = mz_heap_sum_plus(*to, from);
}

void mz_heap_sum_add(struct mz_heap_sum *to, const struct mz_heap_sum *from)
{
	add(&to->blocks, from->blocks);
	add(&to->bytes, from->bytes);
	add(&to->waste, from->waste);
	add(&to->temporary, from->temporary);
	add(&to->live_bytes, from->live_bytes);
	add(&to->live_blocks, from->live_blocks);
	add(&to->peak_bytes, from->peak_bytes);
	add(&to->peak_blocks, from->peak_blocks);
	add(&to->peak_waste, from->peak_waste);
	add(&to->max_bytes, from->max_bytes);
	add(&to->max_blocks, from->max_blocks);
	add(&to->lifetime, from->lifetime);
	add(&to->reads, from->reads);
	add(&to->writes, from->writes);
}
