/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow, and their order. */
#ifndef MZ_BASE_ARRAY_H
#define MZ_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Makes room for a member with number `at` in an array of members of `size` bytes and sets it to
 * zeros if it is new. *cap is updated. False: no memory. */
bool mz_array_room(void **array, size_t *cap, size_t at, size_t size);
/* Adds a copy of the text to an array of n texts. False: no memory. */
bool mz_array_text(char ***texts, size_t *n, size_t *cap, const char *text);

/* For qsort(): which of two numbers comes first. Further keys follow with ?: */
#define MZ_ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

/*
 * How many of n members, sorted by a 64-bit key at this offset, have a key not above (below) the
 * wanted one. Inlined, so that size and offset are constants.
 *
 * Each step compares the ends of MZ_ARRAY_PARTS parts, which the processor does at once, even if
 * none of them is in its cache. No branch depends on the keys: half of its guesses would be wrong.
 */
#define MZ_ARRAY_PARTS 16

static inline size_t mz_array_not_above(const void *array, size_t n, size_t size, size_t offset,
					uint64_t key)
{
	const char *base = (const char *)array + offset;
	size_t at = 0;
	uint64_t here;

	while (n > MZ_ARRAY_PARTS) {
		size_t part = n / MZ_ARRAY_PARTS, passed = 0;

		for (size_t i = 1; i < MZ_ARRAY_PARTS; i++) {
			memcpy(&here, base + (at + i * part - 1) * size, sizeof(here));
			passed += here <= key;
		}
		at += passed * part;
		/* the last part also has the rest of the division */
		n = passed < MZ_ARRAY_PARTS - 1 ? part : n - passed * part;
	}
	for (const char *p = base + at * size, *end = p + n * size; p < end; p += size) {
		memcpy(&here, p, sizeof(here));
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
