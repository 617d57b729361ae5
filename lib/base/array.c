// SPDX-License-Identifier: BSD-2-Clause
/* Make room in arrays that grow. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* Growing by half wastes less than doubling does. New members are zero, so that the caller need not
 * distinguish them from old ones. */
bool mz_array_room(void **array, size_t *cap, size_t at, size_t size)
{
	size_t want = *cap + *cap / 2;
	char *p;

	if (at < *cap)
		return true;
	if (want <= at)
		want = at < 64 ? 64 : at + at / 2;
	p = realloc(*array, want * size);
	if (!p)
		return false;
	memset(p + *cap * size, 0, (want - *cap) * size);
	*array = p;
	*cap = want;
	return true;
}

bool mz_array_text(char ***texts, size_t *n, size_t *cap, const char *text)
{
	char *copy = strdup(text);

	if (!copy || !mz_array_room((void **)texts, cap, *n, sizeof(**texts))) {
		free(copy);
		return false;
	}
	(*texts)[(*n)++] = copy;
	return true;
}
