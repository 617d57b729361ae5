/* SPDX-License-Identifier: BSD-2-Clause */
/* Each different pattern once, and how often it was met. */
#ifndef MZ_TRACE_PATTERNS_H
#define MZ_TRACE_PATTERNS_H

#include <assert.h>

#include "trace/chunk.h"

#define MZ_PATTERN_NONE UINT32_MAX

struct mz_patterns {
	struct mz_pattern *v;
	uint32_t *count;
	uint32_t n;
	uint32_t cap;
	uint32_t *index; /* open addressing; 0 = empty, else number + 1 */
	uint32_t mask;
};

void mz_patterns_deinit(struct mz_patterns *p);
void mz_patterns_clear(struct mz_patterns *p);
size_t mz_patterns_memory(const struct mz_patterns *p);

int mz_patterns_grow(struct mz_patterns *p);

/* A pattern as words: it has no padding. */
struct mz_pattern_words {
	uint64_t w[7];
};

static inline struct mz_pattern_words mz_pattern_words(const struct mz_pattern *p)
{
	struct mz_pattern_words words;

	static_assert(sizeof(*p) == sizeof(words), "a pattern has no padding");
	memcpy(&words, p, sizeof(words));
	return words;
}

static inline uint32_t mz_pattern_hash(const struct mz_pattern *p)
{
	struct mz_pattern_words x = mz_pattern_words(p);
	uint64_t h = (x.w[0] ^ x.w[1] * 5 ^ x.w[2] * 7 ^ x.w[5] * 11) * 0x9e3779b97f4a7c15u;

	h ^= (x.w[3] ^ (x.w[4] << 7 | x.w[4] >> 57) ^ x.w[6] * 13) * 0xd6e8feb86659fd93u;
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static inline bool mz_pattern_same(const struct mz_pattern *a, const struct mz_pattern *b)
{
	struct mz_pattern_words x = mz_pattern_words(a), y = mz_pattern_words(b);

	return !((x.w[0] ^ y.w[0]) | (x.w[1] ^ y.w[1]) | (x.w[2] ^ y.w[2]) | (x.w[3] ^ y.w[3]) |
		 (x.w[4] ^ y.w[4]) | (x.w[5] ^ y.w[5]) | (x.w[6] ^ y.w[6]));
}

/* The number of a pattern, which is added if it is new; MZ_PATTERN_NONE: no
 * memory. The count is the caller's. */
static inline uint32_t mz_patterns_number(struct mz_patterns *p, const struct mz_pattern *pattern)
{
	uint32_t h;

	if (p->n == p->cap && mz_patterns_grow(p) < 0)
		return MZ_PATTERN_NONE;
	for (h = mz_pattern_hash(pattern) & p->mask; p->index[h]; h = (h + 1) & p->mask)
		if (mz_pattern_same(&p->v[p->index[h] - 1], pattern))
			return p->index[h] - 1;
	p->index[h] = p->n + 1;
	p->v[p->n] = *pattern;
	p->count[p->n] = 0;
	return p->n++;
}

#endif
