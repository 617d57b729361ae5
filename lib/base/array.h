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
	const char *base = (const char *)array + offset;
	size_t at = 0;
	uint64_t here;

	/* no branch depends on the keys: a processor would guess half of them wrong */
	while (n > 1) {
		size_t half = n / 2;

		memcpy(&here, base + (at + half - 1) * size, sizeof(here));
		at += here <= key ? half : 0;
		n -= half;
	}
	if (n) {
		memcpy(&here, base + at * size, sizeof(here));
		at += here <= key;
	}
	return at;
}

static inline size_t mz_array_below(const void *array, size_t n, size_t size, size_t offset,
				    uint64_t key)
{
	return key ? mz_array_not_above(array, n, size, offset, key - 1) : 0;
}

#endif
