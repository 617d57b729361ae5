// SPDX-License-Identifier: BSD-2-Clause
/* Map addresses to live blocks and to pages of a kernel trace. */
#include "analysis/kmem_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How long a freed block is remembered at least, to detect a second free. */
#define REMEMBER   (10ull * 1000000000u)
#define MAX_CPUS   1024
#define SWEEP_FROM ((1u << 14) - 1)

/* The open gaps of a CPU. */
struct cpu_gaps {
	uint64_t key;
	size_t newest; /* + 1 */
};

/* Page 0 stands for none, so that 0 can be returned for an unknown page. */
struct mz_kmem_live *mz_kmem_live_new(void)
{
	struct mz_kmem_live *l = calloc(1, sizeof(*l));
	bool good = l;

	for (int i = 0; l && i < MZ_KMEM_ALLOCATORS; i++)
		good &= !mz_u64_table_init(&l->blocks[i], sizeof(struct mz_kmem_block));
	good = good && !mz_u64_table_init(&l->gaps, sizeof(struct cpu_gaps));
	if (good && mz_array_room((void **)&l->pages, &l->cap_pages, 0, sizeof(*l->pages)))
		return l;
	mz_kmem_live_free(l);
	return NULL;
}

void mz_kmem_live_free(struct mz_kmem_live *l)
{
	if (!l)
		return;
	for (int i = 0; i < MZ_KMEM_ALLOCATORS; i++)
		mz_u64_table_deinit(&l->blocks[i]);
	mz_pair_index_deinit(&l->page_index);
	free(l->pages);
	mz_u64_table_deinit(&l->gaps);
	free(l->older);
	free(l->matrix);
	free(l->chosen);
	free(l);
}

/* ---- gaps --------------------------------------------------------------- */

static uint64_t gaps_key(int cpu)
{
	return cpu < 0 ? UINT64_MAX : (uint64_t)cpu + 1;
}

int mz_kmem_live_open_gap(struct mz_kmem_live *l, int cpu, size_t gap)
{
	struct cpu_gaps *c;
	bool fresh;

	if (!mz_array_room((void **)&l->older, &l->cap_older, gap, sizeof(*l->older)))
		return -ENOMEM;
	c = mz_u64_table_insert(&l->gaps, gaps_key(cpu), sizeof(*c), &fresh);
	if (!c)
		return -ENOMEM;
	l->older[gap] = fresh ? 0 : c->newest;
	c->newest = gap + 1;
	l->open_gaps++;
	return 0;
}

size_t mz_kmem_live_take_gaps(struct mz_kmem_live *l, int cpu)
{
	struct cpu_gaps *c = mz_u64_table_find(&l->gaps, gaps_key(cpu), sizeof(*c));
	size_t newest = c ? c->newest : 0;

	if (c)
		mz_u64_table_remove(&l->gaps, c, sizeof(*c));
	for (size_t i = newest; i; i = l->older[i - 1])
		l->open_gaps--;
	return newest;
}

/* ---- blocks ------------------------------------------------------------- */

static bool is_young(const void *record, const void *now)
{
	const struct mz_kmem_block *b = record;

	return b->state != KMEM_GONE &&
	       (b->state != KMEM_FREED || *(const uint64_t *)now <= b->freed + REMEMBER);
}

int mz_kmem_live_sweep(struct mz_u64_table *t, uint64_t now)
{
	if (t->mask < SWEEP_FROM)
		return 0;
	return mz_u64_table_sweep(t, sizeof(struct mz_kmem_block), is_young, &now);
}

struct mz_kmem_block *mz_kmem_live_next(const struct mz_kmem_live *l, size_t *at)
{
	size_t i = *at, skip = 0;

	for (int of = 0; of < MZ_KMEM_ALLOCATORS; of++) {
		const struct mz_u64_table *t = &l->blocks[of];

		for (; i - skip <= t->mask; i++) {
			struct mz_kmem_block *b = mz_u64_table_slot(t, i - skip, sizeof(*b));

			if (b->addr) {
				*at = i + 1;
				return b;
			}
		}
		skip += t->mask + 1;
	}
	return NULL;
}

/* ---- pages -------------------------------------------------------------- */

uint32_t mz_kmem_live_page(struct mz_kmem_live *l, uint64_t addr, bool make)
{
	size_t before = l->page_index.count;
	uint32_t n;

	if (!make)
		return mz_pair_index_get(&l->page_index, addr >> 12, 0) + 1;
	n = mz_pair_index_put(&l->page_index, addr >> 12, 0) + 1;
	if (!n || !mz_array_room((void **)&l->pages, &l->cap_pages, n, sizeof(*l->pages)))
		return 0;
	/* no cache yet: the first object determines it */
	if (l->page_index.count > before)
		l->pages[n] = (struct kmem_page){.cache = UINT32_MAX};
	return n;
}

bool mz_kmem_live_recycled(const struct mz_kmem_live *l, uint64_t addr, uint32_t cache,
			   uint64_t since)
{
	uint32_t n = mz_pair_index_get(&l->page_index, addr >> 12, 0) + 1;
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

/* Nodes are those of the machine that recorded, which the trace contains. */
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
