/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow, and their order. */
#ifndef MZ_BASE_ARRAY_H
#define MZ_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Makes room for a member with number `at` in an array of members of `size` bytes
 * and sets it to zeros if it is new. *cap goes along. False: no memory. */
bool mz_array_room(void **array, size_t *cap, size_t at, size_t size);
/* Adds a copy of the text to an array of n texts. False: no memory. */
bool mz_array_text(char ***texts, size_t *n, size_t *cap, const char *text);

/* For qsort(): which of two numbers comes first. Further keys follow with ?: */
#define MZ_ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

/*
 * How many of n members, sorted by a 64-bit key at this offset, have a key not above (below) the
 * wanted one. Inlined, so that size and offset are constants.
 */
static inline size_t mz_array_not_above(const void *array, size_t n, size_t size, size_t offset,
					uint64_t key)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t here;

		memcpy(&here, (const char *)array + mid * size + offset, sizeof(here));
		if (here <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static inline size_t mz_array_below(const void *array, size_t n, size_t size, size_t offset,
				    uint64_t key)
{
	return key ? mz_array_not_above(array, n, size, offset, key - 1) : 0;
}

#endif
