// SPDX-License-Identifier: BSD-2-Clause
/* Find sizes that fit their kmalloc size class badly, and what a cache of their own would save. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/kmem.h"
#include "base/array.h"

#define PAGE 4096u

uint32_t mz_kmem_own_cost(uint32_t n)
{
	uint32_t size = (n + 7) & ~7u, best = UINT32_MAX;

	if (!size)
		size = 8;
	for (unsigned order = 0; order <= 3; order++) {
		uint32_t slab = PAGE << order, objects = slab / size;

		/* the rest of a slab is divided among its objects */
		if (objects && (slab + objects - 1) / objects < best)
			best = (slab + objects - 1) / objects;
	}
	return best == UINT32_MAX ? size : best;
}

static int by_saved(const void *a, const void *b)
{
	const struct mz_kmem_advice *x = a, *y = b;

	return MZ_ORDER(y->saves, x->saves) ?: MZ_ORDER(x->site, y->site);
}

int mz_kmem_advise(struct mz_kmem_report *r)
{
	r->advice = calloc(r->nshapes + 1, sizeof(*r->advice));
	if (!r->advice)
		return -ENOMEM;
	for (size_t i = 0; i < r->nshapes; i++) {
		const struct mz_kmem_shape *s = &r->shapes[i];
		uint32_t own = mz_kmem_own_cost(s->req);

		if (s->given <= own || !s->peak)
			continue;
		r->advice[r->nadvice++] = (struct mz_kmem_advice){
			.site = s->site,
			.req = s->req,
			.given = s->given,
			.own = own,
			.allocs = s->allocs,
			.peak = s->peak,
			.saves = (uint64_t)(s->given - own) * s->peak,
		};
	}
	qsort(r->advice, r->nadvice, sizeof(*r->advice), by_saved);
	return 0;
}
