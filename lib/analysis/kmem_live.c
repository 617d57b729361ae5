// SPDX-License-Identifier: BSD-2-Clause
/* Map addresses to live blocks and to pages of a kernel trace. */
#include "analysis/kmem_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A freed block is remembered so long at least, to see it freed again. */
#define REMEMBER (10ull * 1000000000u)
#define MAX_CPUS 1024
#define HUGE_PAGE ((size_t)2 << 20)

struct mz_kmem_live *mz_kmem_live_new(void)
{
	struct mz_kmem_live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->mask = l->page_mask = (1u << 14) - 1;
	l->slots = calloc(l->mask + 1, sizeof(*l->slots));
	l->page_slots = calloc(l->page_mask + 1, sizeof(*l->page_slots));
	l->cap_pages = 1024;
	l->pages = malloc(l->cap_pages * sizeof(*l->pages));
	l->npages = 1;
	if (l->slots && l->pages && l->page_slots) {
		l->pages[0] = (struct kmem_page){0};
		return l;
	}
	mz_kmem_live_free(l);
	return NULL;
}

void mz_kmem_live_free(struct mz_kmem_live *l)
{
	if (!l)
		return;
	free(l->slots);
	free(l->pages);
	free(l->page_slots);
	free(l->matrix);
	free(l->chosen);
	free(l);
}

/* ---- blocks ------------------------------------------------------------- */

static bool is_old(const struct mz_kmem_block *b, uint64_t now)
{
	return b->state == KMEM_GONE || (b->state == KMEM_FREED && now > b->born + REMEMBER);
}

/* Empty ones. They are asked for in no order: large pages are less to look up. */
static struct mz_kmem_block *new_slots(size_t n)
{
	size_t size = n * sizeof(struct mz_kmem_block);
	void *p;

	if (size < 4 * HUGE_PAGE)
		return calloc(n, sizeof(struct mz_kmem_block));
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	p = aligned_alloc(HUGE_PAGE, size);
	if (!p)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE);
	return memset(p, 0, size);
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
	p = new_slots(mask + 1);
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i <= l->mask; i++)
		if (l->slots[i].addr && !is_old(&l->slots[i], now))
			*mz_kmem_live_slot(p, mask, l->slots[i].addr, l->slots[i].of) =
				l->slots[i];
	free(l->slots);
	l->slots = p;
	l->mask = mask;
	l->used = keep;
	return 0;
}

struct mz_kmem_block *mz_kmem_live_add(struct mz_kmem_live *l, uint64_t addr, uint8_t of,
				       uint64_t now)
{
	struct mz_kmem_block *b;

	if (l->used >= l->mask / 3 * 2 && rebuild(l, now) < 0)
		return NULL;
	b = mz_kmem_live_slot(l->slots, l->mask, addr, of);
	l->used++;
	*b = (struct mz_kmem_block){.addr = addr, .of = of};
	return b;
}

/* ---- pages -------------------------------------------------------------- */

static uint32_t *page_slot(const struct mz_kmem_live *l, uint32_t *slots, size_t mask, uint64_t page)
{
	size_t i = mz_kmem_live_hash(page) & mask;

	while (slots[i] && l->pages[slots[i]].page != page)
		i = (i + 1) & mask;
	return &slots[i];
}

static int grow_page_slots(struct mz_kmem_live *l)
{
	size_t mask = l->page_mask * 2 + 1;
	uint32_t *p = calloc(mask + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (uint32_t i = 1; i < l->npages; i++)
		*page_slot(l, p, mask, l->pages[i].page) = i;
	free(l->page_slots);
	l->page_slots = p;
	l->page_mask = mask;
	return 0;
}

static int grow_pages(struct mz_kmem_live *l)
{
	struct kmem_page *p = realloc(l->pages, (size_t)l->cap_pages * 2 * sizeof(*p));

	if (!p)
		return -ENOMEM;
	l->pages = p;
	l->cap_pages *= 2;
	return 0;
}

uint32_t mz_kmem_live_page(struct mz_kmem_live *l, uint64_t addr, bool make)
{
	uint32_t *slot = page_slot(l, l->page_slots, l->page_mask, addr >> 12);

	if (*slot || !make)
		return *slot;
	if ((l->npages == l->cap_pages && grow_pages(l) < 0) ||
	    (l->npages >= l->page_mask / 3 * 2 && grow_page_slots(l) < 0))
		return 0;
	/* a cache that is none: the first object says which it is */
	l->pages[l->npages] = (struct kmem_page){.page = addr >> 12, .cache = UINT32_MAX};
	*page_slot(l, l->page_slots, l->page_mask, addr >> 12) = l->npages;
	return l->npages++;
}

bool mz_kmem_live_recycled(const struct mz_kmem_live *l, uint64_t addr, uint32_t cache,
			   uint64_t since)
{
	uint32_t n = *page_slot(l, l->page_slots, l->page_mask, addr >> 12);
	const struct kmem_page *p = &l->pages[n];

	return n && (p->since > since || p->cache != cache);
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

bool mz_kmem_live_room(struct mz_kmem_live *l, unsigned cpus)
{
	if (cpus > MAX_CPUS)
		return false;
	if (!grow_matrix(l, cpus))
		l->no_matrix = true;
	return cpus <= l->cpus;
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
	if (!r->cpu_matrix || !r->node_matrix || l->no_matrix)
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
