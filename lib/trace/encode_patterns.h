/* SPDX-License-Identifier: BSD-2-Clause */
/* Each different pattern once, and how often it occurred. */
#ifndef MZ_TRACE_ENCODE_PATTERNS_H
#define MZ_TRACE_ENCODE_PATTERNS_H

#include "base/hash_index.h"
#include "trace/chunk.h"

#define MZ_PATTERN_NONE	     MZ_HASH_NONE
#define MZ_PATTERN_HINT_BITS 12

struct mz_patterns {
	struct mz_pattern *v;
	uint32_t *count;
	uint32_t n;
	uint32_t cap;
	struct mz_hash_index index;
	uint64_t seed[7];			  /* random and odd: see mz_pattern_hash() */
	uint32_t hint[1 << MZ_PATTERN_HINT_BITS]; /* any number; see mz_patterns_usual() */
};

void mz_patterns_deinit(struct mz_patterns *p);
void mz_patterns_clear(struct mz_patterns *p);
size_t mz_patterns_memory(const struct mz_patterns *p);

int mz_patterns_grow(struct mz_patterns *p);

/* A sum of products with random factors, so that a file cannot choose patterns that fall into one
 * place. By fields: a wide load of a pattern just stored in pieces waits for them all. */
static inline uint64_t mz_pattern_hash(const struct mz_patterns *s, const struct mz_pattern *p)
{
	uint64_t h = p->size * s->seed[0] + p->given * s->seed[1] + p->arg * s->seed[2];

	h += ((uint64_t)p->site << 32 | p->cache) * s->seed[3];
	h += ((uint64_t)p->flags << 32 | p->unit) * s->seed[4];
	h += ((uint64_t)p->block << 32 | (uint64_t)p->form << 16 | p->has) * s->seed[5];
	h += ((uint64_t)p->kind << 8 | p->call) * s->seed[6];
	return (h ^ h >> 32) * MZ_HASH_GOLDEN;
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

/* The number of a pattern, which is added if it is new; MZ_PATTERN_NONE: no memory. The caller
 * counts its uses. */
static inline uint32_t mz_patterns_number(struct mz_patterns *p, const struct mz_pattern *pattern)
{
	uint32_t n;
	uint64_t h;
	size_t at;

	if (p->n == p->cap && mz_patterns_grow(p) < 0)
		return MZ_PATTERN_NONE;
	h = mz_pattern_hash(p, pattern);
	at = mz_hash_index_home(&p->index, h);
	while ((n = mz_hash_index_candidate(&p->index, h, &at)) != MZ_HASH_NONE) {
		if (mz_pattern_same(&p->v[n], pattern))
			return n;
		at = mz_hash_index_next(&p->index, at);
	}
	p->v[p->n] = *pattern;
	p->count[p->n++] = 0;
	return mz_hash_index_enter(&p->index, h, at);
}

/* Where a pattern with these fields is noted when it occurs. */
static inline uint32_t mz_patterns_slot(uint64_t size, uint32_t site, uint32_t form, uint32_t call)
{
	uint32_t mixed = (uint32_t)size + (site << 9) + (form << 20) + (call << 27);

	return mixed * 0x9e3779b1u >> (32 - MZ_PATTERN_HINT_BITS);
}

/* The number that was noted last for such a pattern; it may be the number of no pattern. */
static inline uint32_t mz_patterns_hint(const struct mz_patterns *p, uint64_t size, uint32_t site,
					uint32_t form, uint32_t call)
{
	return p->hint[mz_patterns_slot(size, site, form, call)];
}

/* The same for a pattern that occurred shortly before, as nearly all did: it is found without
 * the hash. Patterns that share a hint cost no more than the search that it saves. */
static inline uint32_t mz_patterns_usual(struct mz_patterns *p, const struct mz_pattern *pattern)
{
	uint32_t *hint = &p->hint[mz_patterns_slot(pattern->size, pattern->site, pattern->form,
						   pattern->call)];

	if (*hint >= p->n || !mz_pattern_same(&p->v[*hint], pattern))
		*hint = mz_patterns_number(p, pattern);
	return *hint;
}

#endif
