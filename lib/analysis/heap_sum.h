/* SPDX-License-Identifier: BSD-2-Clause */
/* What one place in the code (or all of them) did with the heap: the sum of its blocks. */
#ifndef MZ_ANALYSIS_HEAP_SUM_H
#define MZ_ANALYSIS_HEAP_SUM_H

#include <stddef.h>
#include <stdint.h>

struct mz_heap_sum {
	uint64_t blocks;    /* that it made; a realloc makes a block */
	uint64_t bytes;	    /* requested, in total */
	uint64_t waste;	    /* given beyond the request, in total */
	uint64_t temporary; /* blocks that their thread freed before its next allocation */
	uint64_t live_bytes, live_blocks; /* now: at the end, what was never freed */
	uint64_t peak_bytes, peak_blocks; /* live at the peak of the whole */
	uint64_t peak_waste;
	uint64_t max_bytes, max_blocks; /* at the place's own peak */
	uint64_t lifetime;		/* of its blocks, added up; the live ones up to the end */
	uint64_t reads, writes;		/* of its blocks, where they are counted */
};

/* The values come from a file and may be wrong: a sum that does not fit becomes the largest number,
 * instead of wrapping around to a small one. */
static inline uint64_t mz_heap_sum_plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* The member at an offset: the one that a list is sorted by. */
static inline uint64_t mz_heap_sum_get(const struct mz_heap_sum *s, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)s + offset);
}

/* Adds one sum to another, possibly of another program. The places had their own peaks at
 * different times, so the sum of these peaks is an upper bound. */
void mz_heap_sum_add(struct mz_heap_sum *to, const struct mz_heap_sum *from);

#endif
