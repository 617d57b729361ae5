// SPDX-License-Identifier: BSD-2-Clause
/* Tables by address: blocks and pages. */
#include "analysis/kmem_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A freed block is remembered so long at least, to see it freed again. */
#define REMEMBER (10ull * 1000000000u)
#define MAX_CPUS 1024

static size_t hash(uint64_t v)
{
	return (size_t)((v * 0x9e3779b97f4a7c15u) >> 20);
}

struct mz_kmem_live *mz_kmem_live_new(void)
{
	struct mz_kmem_live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->mask = l->page_mask = (1u << 14) - 1;
	l->slots = calloc(l->mask + 1, sizeof(*l->slots));
	l->pages = calloc(l->page_mask + 1, sizeof(*l->pages));
	if (l->slots && l->pages)
		return l;
	mz_kmem_live_free(l);
	return NULL;
}

void mz_kmem_live_free(struct mz_kmem_live *l)
{
	if (!l)
		return;
	free(l->slots);
	free(l->pages);
	free(l->matrix);
	free(l->chosen);
	free(l);
}

/* ---- blocks ------------------------------------------------------------- */

static struct mz_kmem_block *slot_of(struct mz_kmem_block *slots, size_t mask, uint64_t addr)
{
	size_t i = hash(addr) & mask;

	while (slots[i].addr && slots[i].addr != addr)
		i = (i + 1) & mask;
	return &slots[i];
}

struct mz_kmem_block *mz_kmem_live_find(const struct mz_kmem_live *l, uint64_t addr)
{
	struct mz_kmem_block *b = slot_of(l->slots, l->mask, addr);

	return b->addr && b->state ? b : NULL;
}

static bool is_old(const struct mz_kmem_block *b, uint64_t now)
{
	return b->state == KMEM_GONE || (b->state == KMEM_FREED && now > b->born + REMEMBER);
}

/* What was freed long ago goes; if that is not much, the table grows. */
static int rebuild(struct mz_kmem_live *l, uint64_t now)
{
	size_t keep = 0, mask = l->mask;
	struct mz_kmem_block *p;

	for (size_t i = 0; i <= l->mask; i++)
		keep += l->slots[i].addr && !is_old(&l->slots[i], now);
	if (keep > mask / 3)
		mask = mask * 2 + 1;
	p = calloc(mask + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i <= l->mask; i++)
		if (l->slots[i].addr && !is_old(&l->slots[i], now))
			*slot_of(p, mask, l->slots[i].addr) = l->slots[i];
	free(l->slots);
	l->slots = p;
	l->mask = mask;
	l->used = keep;
	return 0;
}

struct mz_kmem_block *mz_kmem_live_get(struct mz_kmem_live *l, uint64_t addr, uint64_t now)
{
	struct mz_kmem_block *b = slot_of(l->slots, l->mask, addr);

	if (b->addr)
		return b;
	if (l->used >= l->mask / 3 * 2) {
		if (rebuild(l, now) < 0)
			return NULL;
		b = slot_of(l->slots, l->mask, addr);
	}
	l->used++;
	*b = (struct mz_kmem_block){.addr = addr};
	return b;
}

/* ---- pages -------------------------------------------------------------- */

static struct kmem_page *page_slot(struct kmem_page *pages, size_t mask, uint64_t page)
{
	size_t i = hash(page) & mask;

	while (pages[i].page && pages[i].page != page)
		i = (i + 1) & mask;
	return &pages[i];
}

static bool grow_pages(struct mz_kmem_live *l)
{
	size_t mask = l->page_mask * 2 + 1;
	struct kmem_page *p = calloc(mask + 1, sizeof(*p));

	if (!p)
		return false;
	for (size_t i = 0; i <= l->page_mask; i++)
		if (l->pages[i].page)
			*page_slot(p, mask, l->pages[i].page) = l->pages[i];
	free(l->pages);
	l->pages = p;
	l->page_mask = mask;
	return true;
}

void mz_kmem_live_page(struct mz_kmem_live *l, uint64_t addr, uint32_t cache, uint64_t now)
{
	struct kmem_page *p;

	if (l->pages_used >= l->page_mask / 3 * 2 && !grow_pages(l) &&
	    l->pages_used >= l->page_mask - 1)
		return; /* without memory less is known, and less called a bug */
	p = page_slot(l->pages, l->page_mask, addr >> 12);
	if (!p->page) {
		l->pages_used++;
		*p = (struct kmem_page){.page = addr >> 12, .since = now, .cache = cache};
	} else if (p->cache != cache) {
		p->cache = cache;
		p->since = now;
	}
}

bool mz_kmem_live_recycled(const struct mz_kmem_live *l, uint64_t addr, uint32_t cache,
			   uint64_t since)
{
	const struct kmem_page *p = page_slot(l->pages, l->page_mask, addr >> 12);

	return p->page && (p->since > since || p->cache != cache);
}

void mz_kmem_live_prefetch(const struct mz_kmem_live *l, uint64_t addr)
{
	__builtin_prefetch(&l->slots[hash(addr) & l->mask]);
	__builtin_prefetch(&l->pages[hash(addr >> 12) & l->page_mask]);
}

/* ---- CPUs --------------------------------------------------------------- */

static bool grow_matrix(struct mz_kmem_live *l, unsigned need)
{
	unsigned to = l->cpus ? l->cpus : 8;
	uint64_t *p;

	while (to < need)
		to *= 2;
	p = calloc((size_t)to * to, sizeof(*p));
	if (!p)
		return false;
	for (unsigned i = 0; i < l->cpus; i++)
		memcpy(p + (size_t)i * to, l->matrix + (size_t)i * l->cpus, l->cpus * sizeof(*p));
	free(l->matrix);
	l->matrix = p;
	l->cpus = to;
	return true;
}

void mz_kmem_live_matrix(struct mz_kmem_live *l, int a, int f)
{
	unsigned need = (unsigned)(a > f ? a : f) + 1;

	if (need > MAX_CPUS || (need > l->cpus && !grow_matrix(l, need)))
		return;
	l->matrix[(size_t)a * l->cpus + (size_t)f]++;
}

int mz_kmem_live_matrices(struct mz_kmem_live *l, struct mz_kmem_report *r)
{
	unsigned n = r->ncpus;

	for (unsigned cpu = 0; cpu < n; cpu++) {
		int node = mz_kmem_input_node(r->in, (int)cpu);

		if (node >= 0 && (unsigned)node >= r->nnodes)
			r->nnodes = (unsigned)node + 1;
	}
	r->cpu_matrix = calloc((size_t)n * n + 1, sizeof(*r->cpu_matrix));
	r->node_matrix = calloc((size_t)r->nnodes * r->nnodes + 1, sizeof(*r->node_matrix));
	if (!r->cpu_matrix || !r->node_matrix)
		return -ENOMEM;
	for (unsigned a = 0; a < n && a < l->cpus; a++)
		for (unsigned f = 0; f < n && f < l->cpus; f++) {
			uint64_t v = l->matrix[(size_t)a * l->cpus + f];
			int na = mz_kmem_input_node(r->in, (int)a);
			int nf = mz_kmem_input_node(r->in, (int)f);

			r->cpu_matrix[(size_t)a * n + f] = v;
			if (na >= 0 && nf >= 0)
				r->node_matrix[(size_t)na * r->nnodes + (size_t)nf] += v;
		}
	return 0;
}
