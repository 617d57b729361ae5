// SPDX-License-Identifier: BSD-2-Clause
/* Intern event patterns and count their uses. */
#include "trace/encode_patterns.h"

#include <errno.h>
#include <stdlib.h>

void mz_patterns_deinit(struct mz_patterns *p)
{
	free(p->v);
	free(p->count);
	mz_hash_index_deinit(&p->index);
	*p = (struct mz_patterns){0};
}

void mz_patterns_clear(struct mz_patterns *p)
{
	p->n = 0;
	mz_hash_index_clear(&p->index);
}

size_t mz_patterns_memory(const struct mz_patterns *p)
{
	return p->cap * (sizeof(*p->v) + sizeof(*p->count)) + (p->index.mask + 1) * 8;
}

/* The arrays are replaced one by one and stay valid if a later step fails; only then is the
 * index rebuilt. */
int mz_patterns_grow(struct mz_patterns *p)
{
	struct mz_pattern *v;
	uint32_t *count;
	uint32_t cap;

	if (!p->index.slots) {
		mz_hash_random(p->seed, 7);
		for (int i = 0; i < 7; i++)
			p->seed[i] |= 1;
	}
	if (!mz_hash_index_room(&p->index))
		return -ENOMEM;
	cap = (uint32_t)p->index.cap;
	v = realloc(p->v, cap * sizeof(*v));
	if (v)
		p->v = v;
	count = realloc(p->count, cap * sizeof(*count));
	if (count)
		p->count = count;
	if (!v || !count)
		return -ENOMEM;
	p->cap = cap;
	return 0;
}
