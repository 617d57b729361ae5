// SPDX-License-Identifier: BSD-2-Clause
/* Find where the sections of a module are in another view of it, by names that both have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbols/code.h"

static int by_name(const void *a, const void *b)
{
	const struct mz_code_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Is the i-th name of a sorted list there once? */
static bool is_unique(const struct mz_code_name *list, size_t n, size_t i)
{
	return (i == 0 || strcmp(list[i - 1].name, list[i].name)) &&
	       (i + 1 == n || strcmp(list[i + 1].name, list[i].name));
}

/* Sections follow each other, so an address belongs to the last one that begins at it or before
 * it. */
static size_t section_at(const struct mz_code *c, uint64_t addr)
{
	size_t i = mz_array_not_above(c->sections, c->n_sections, sizeof(*c->sections),
				      offsetof(struct mz_code_section, addr), addr);

	return i ? i - 1 : 0;
}

size_t mz_code_section_of(const struct mz_code *c, size_t i)
{
	return section_at(c, c->functions[i].start);
}

/* Both lists are sorted, so they are read side by side. */
static int compare(const struct mz_code *c, const struct mz_code_name *own,
		   const struct mz_code_name *list, size_t n, uint64_t *at)
{
	size_t k = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t s = section_at(c, own[i].addr);
		uint64_t addr;

		while (k < n && strcmp(list[k].name, own[i].name) < 0)
			k++;
		if (k == n)
			return 0;
		/* static functions of several files may share a name, which then says nothing */
		if (strcmp(list[k].name, own[i].name) || !is_unique(list, n, k) ||
		    !is_unique(own, c->n, i))
			continue;
		addr = list[k].addr - (own[i].addr - c->sections[s].addr);
		/* one name places a section, and all others must agree: otherwise it is another
		 * build */
		if (at[s] != MZ_CODE_NOWHERE && at[s] != addr)
			return -EINVAL;
		at[s] = addr;
	}
	return 0;
}

int mz_code_place(const struct mz_code *c, struct mz_code_name *list, size_t n, uint64_t *at)
{
	struct mz_code_name *own = calloc(c->n ? c->n : 1, sizeof(*own));
	int ret;

	if (!own)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_sections; i++)
		at[i] = MZ_CODE_NOWHERE;
	for (size_t i = 0; i < c->n; i++)
		own[i] = (struct mz_code_name){c->functions[i].name, c->functions[i].start};
	if (c->n)
		qsort(own, c->n, sizeof(*own), by_name);
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	ret = compare(c, own, list, n, at);
	free(own);
	return ret;
}
