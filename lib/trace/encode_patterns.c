// SPDX-License-Identifier: BSD-2-Clause
/* Intern event patterns and count their uses. */
#include "trace/encode_patterns.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST 256

void mz_patterns_deinit(struct mz_patterns *p)
{
	free(p->v);
	free(p->count);
	free(p->index);
	*p = (struct mz_patterns){0};
}

void mz_patterns_clear(struct mz_patterns *p)
{
	p->n = 0;
	if (p->index)
		memset(p->index, 0, ((size_t)p->mask + 1) * sizeof(*p->index));
}

size_t mz_patterns_memory(const struct mz_patterns *p)
{
	return p->cap * (sizeof(*p->v) + sizeof(*p->count)) + ((size_t)p->mask + 1) * 4;
}

int mz_patterns_grow(struct mz_patterns *p)
{
	uint32_t cap = p->cap ? p->cap * 2 : FIRST, mask = cap * 2 - 1;
	struct mz_pattern *v = realloc(p->v, cap * sizeof(*v));
	uint32_t *count, *index;

	if (v)
		p->v = v;
	count = realloc(p->count, cap * sizeof(*count));
	if (count)
		p->count = count;
	index = calloc((size_t)mask + 1, sizeof(*index));
	if (!v || !count || !index) {
		free(index);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t h = mz_pattern_hash(&v[i]) & mask;

		while (index[h])
			h = (h + 1) & mask;
		index[h] = i + 1;
	}
	free(p->index);
	p->index = index;
	p->mask = mask;
	p->cap = cap;
	return 0;
}
