// SPDX-License-Identifier: BSD-2-Clause
/* Keep the counters, findings and worst allocations of a kernel report. */
#include "analysis/kmem_groups.h"

#include <string.h>

#include "base/array.h"

#define MAX_FINDINGS 1000000u

const uint8_t mz_kmem_allocators[256] = {
	[MZ_CALL_PAGE_ALLOC] = MZ_KMEM_OF_PAGES,    [MZ_CALL_PAGE_FREE] = MZ_KMEM_OF_PAGES,
	[MZ_CALL_VMALLOC] = MZ_KMEM_OF_VMALLOC,	    [MZ_CALL_VFREE] = MZ_KMEM_OF_VMALLOC,
	[MZ_CALL_PERCPU_ALLOC] = MZ_KMEM_OF_PERCPU, [MZ_CALL_PERCPU_FREE] = MZ_KMEM_OF_PERCPU,
};

/* ---- groups ------------------------------------------------------------- */

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned b)
{
	unsigned log = b / 8 + 2;

	if (b < 8)
		return b;
	return ((uint64_t)(8 + b % 8) << (log - 3)) + (log > 3 ? (1ull << (log - 3)) / 2 : 0);
}

/* The bucket that contains the requested part; its value is within 7 %, which the manual page
 * states. */
uint64_t mz_kmem_lifetime(const struct mz_kmem_group *g, double part)
{
	uint64_t sum = 0, want = (uint64_t)((double)g->ended * part);

	if (!g->lifetimes || !g->ended)
		return 0;
	for (unsigned b = 0; b < MZ_KMEM_BUCKETS; b++) {
		sum += g->lifetimes[b];
		if (sum > want || sum == g->ended)
			return bucket_value(b);
	}
	return bucket_value(MZ_KMEM_BUCKETS - 1);
}

int mz_kmem_grow_groups(struct mz_kmem_group **g, uint32_t *n, uint32_t need)
{
	uint32_t to = *n ? *n : 512;
	struct mz_kmem_group *p;

	while (to < need)
		to *= 2;
	p = realloc(*g, (size_t)to * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + *n, 0, (size_t)(to - *n) * sizeof(*p));
	*g = p;
	*n = to;
	return 0;
}

/* The values of g that follow from the parts that are added. The peaks do not. */
static int add_group(struct mz_kmem_group *g, const struct mz_kmem_group *part)
{
	g->allocs += part->allocs;
	g->failed += part->failed;
	g->ended += part->ended;
	g->req += part->req;
	g->given += part->given;
	g->freed_given += part->freed_given;
	g->live_req += part->live_req;
	g->cross_cpu += part->cross_cpu;
	g->cross_node += part->cross_node;
	g->over_live += part->over_live;
	if (!part->lifetimes)
		return 0;
	if (!g->lifetimes)
		g->lifetimes = calloc(MZ_KMEM_BUCKETS, sizeof(*g->lifetimes));
	if (!g->lifetimes)
		return -ENOMEM;
	for (unsigned b = 0; b < MZ_KMEM_BUCKETS; b++)
		g->lifetimes[b] += part->lifetimes[b];
	return 0;
}

/* Totals follow from the caches, so they are summed once at the end and not updated per event. */
int mz_kmem_sum_up(struct mz_kmem_report *r)
{
	int ret = 0;

	for (uint32_t i = 0; i < r->ncaches && !ret; i++)
		ret = add_group(&r->of[r->caches[i].allocator], &r->caches[i]);
	for (int i = 0; i < MZ_KMEM_ALLOCATORS && !ret; i++)
		ret = add_group(&r->total, &r->of[i]);
	return ret;
}

/* ---- findings ----------------------------------------------------------- */

int mz_kmem_find(struct mz_kmem_report *r, struct mz_kmem_finding f)
{
	if (r->nfindings >= MAX_FINDINGS) {
		r->findings_dropped++;
		return 0;
	}
	if (!mz_array_room((void **)&r->findings, &r->cap_findings, r->nfindings,
			   sizeof(*r->findings)))
		return -ENOMEM;
	r->findings[r->nfindings++] = f;
	return 0;
}

/* ---- single allocations, the worst kept --------------------------------- */

static void sift(struct mz_kmem_one *h, size_t n, size_t i)
{
	for (;;) {
		size_t least = i, c = 2 * i + 1;

		if (c < n && kmem_worth(&h[c].block) < kmem_worth(&h[least].block))
			least = c;
		if (c + 1 < n && kmem_worth(&h[c + 1].block) < kmem_worth(&h[least].block))
			least = c + 1;
		if (least == i)
			return;
		struct mz_kmem_one t = h[i];
		h[i] = h[least];
		h[least] = t;
		i = least;
	}
}

/* Only the worst single allocations are kept, so that memory does not grow with the trace. */
int mz_kmem_add_one(struct mz_kmem_report *r, const struct mz_kmem_block *b, uint64_t died,
		    int16_t cpu)
{
	size_t most = r->filter.ones;
	struct mz_kmem_one one = {*b, died, cpu};

	if (most && r->nones == most) {
		r->ones[0] = one;
		sift(r->ones, r->nones, 0);
		return 0;
	}
	if (!mz_array_room((void **)&r->ones, &r->cap_ones, r->nones, sizeof(*r->ones)))
		return -ENOMEM;
	r->ones[r->nones++] = one;
	if (most && r->nones == most)
		for (size_t i = most / 2 + 1; i-- > 0;)
			sift(r->ones, r->nones, i);
	return 0;
}

/* ---- shapes: a size at a call site -------------------------------------- */

int64_t mz_kmem_shape_number(struct mz_kmem_report *r, uint32_t site, uint32_t req, uint32_t given)
{
	uint32_t at = mz_pair_index_put(&r->shape_index, (uint64_t)site << 32 | req, given);

	if (at == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&r->shapes, &r->cap_shapes, at, sizeof(*r->shapes)))
		return -ENOMEM;
	if (at >= r->nshapes) {
		r->shapes[at] = (struct mz_kmem_shape){.site = site, .req = req, .given = given};
		r->nshapes = at + 1;
	}
	return at;
}
