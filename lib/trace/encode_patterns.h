/* SPDX-License-Identifier: BSD-2-Clause */
/* Each different pattern once, and how often it was met. */
#ifndef MZ_TRACE_ENCODE_PATTERNS_H
#define MZ_TRACE_ENCODE_PATTERNS_H

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

/* By fields: a wide load of a pattern just stored in pieces waits for them all. */
static inline uint32_t mz_pattern_hash(const struct mz_pattern *p)
{
	uint64_t h = (p->size ^ p->given * 5 ^ p->arg * 7) * 0x9e3779b97f4a7c15u;
	uint64_t g = p->site * 0xd6e8feb86659fd93u ^ p->cache * 0xa0761d6478bd642fu;

	g ^= (p->flags ^ (uint64_t)p->unit * 13) * 0xe7037ed1a0b428dbu;
	g ^= (p->block * 31ull + p->form * 1025ull + p->has * 65537ull + p->kind * 7ull + p->call) *
	     0x8ebc6af09c88c6e3u;
	h ^= g;
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static inline bool mz_pattern_same(const struct mz_pattern *a, const struct mz_pattern *b)
{
	uint64_t wide = (a->size ^ b->size) | (a->given ^ b->given) | (a->arg ^ b->arg);
	uint32_t half = (a->site ^ b->site) | (a->cache ^ b->cache) | (a->flags ^ b->flags) |
			(a->block ^ b->block) | (a->unit ^ b->unit);
	uint32_t rest = (uint32_t)((a->form ^ b->form) | (a->has ^ b->has) | (a->kind ^ b->kind) |
				   (a->call ^ b->call));

	return !(wide | half | rest);
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
