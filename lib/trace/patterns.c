// SPDX-License-Identifier: BSD-2-Clause
#include "trace/patterns.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define FIRST 256

static uint32_t hash(const struct mz_pattern *p)
{
	uint64_t w[6], h;

	static_assert(sizeof(*p) == sizeof(w), "a pattern has no padding");
	memcpy(w, p, sizeof(w));
	h = (w[0] * 3 ^ w[1] * 5 ^ w[2] * 7) * 0x9e3779b97f4a7c15u;
	h ^= (w[3] ^ (w[4] << 7 | w[4] >> 57) ^ w[5]) * 0xd6e8feb86659fd93u;
	return (uint32_t)(h >> 32 ^ h >> 17);
}

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

static int grow(struct mz_patterns *p)
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
		uint32_t h = hash(&v[i]) & mask;

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

uint32_t mz_patterns_number(struct mz_patterns *p, const struct mz_pattern *pattern)
{
	uint32_t h;

	if (p->n == p->cap && grow(p) < 0)
		return MZ_PATTERN_NONE;
	for (h = hash(pattern) & p->mask; p->index[h]; h = (h + 1) & p->mask)
		if (!memcmp(&p->v[p->index[h] - 1], pattern, sizeof(*pattern)))
			return p->index[h] - 1;
	p->index[h] = p->n + 1;
	p->v[p->n] = *pattern;
	p->count[p->n] = 0;
	return p->n++;
}
