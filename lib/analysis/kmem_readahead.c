// SPDX-License-Identifier: BSD-2-Clause
/* Decode a file of a kernel trace in a thread, a few batches ahead of the reader. */
#include "analysis/kmem_readahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/readahead.h"

/* The thread owns the reader and its tables. The consumer sees copies of what was added to them,
 * since the tables may move while it reads. */
struct mz_kmem_readahead {
	struct mz_reader *r;
	const struct mz_kallsyms *syms; /* NULL = unknown */
	uint32_t sites, caches;		/* of the file, returned so far */
	bool stacks;
	struct mz_readahead *ahead;
	struct kmem_batch *last; /* taken */
	struct kmem_batch batch[MZ_READAHEAD];
};

static void forget(struct kmem_batch *b)
{
	for (uint32_t i = 0; i < b->ncaches; i++)
		free(b->caches[i]);
	b->ncaches = b->nsites = b->nstacks = 0;
}

/* Stacks follow each other in one array, each behind its depth. */
static int add_stack(struct kmem_batch *b, const uint64_t *ips, size_t depth)
{
	if (!mz_array_room((void **)&b->stacks, &b->cap_stacks, b->nstacks + depth,
			   sizeof(*b->stacks)))
		return -ENOMEM;
	b->stacks[b->nstacks++] = depth;
	for (size_t i = 0; i < depth; i++)
		b->stacks[b->nstacks++] = ips[i];
	return 0;
}

/* What was added to the tables since the last batch. */
static int tell_new(struct mz_kmem_readahead *a, struct kmem_batch *b)
{
	const struct mz_tables *t = mz_reader_tables(a->r);
	uint32_t sites = mz_tables_stacks(t), caches = mz_tables_strings(t);

	if (!mz_array_room((void **)&b->sites, &b->cap_sites, sites - a->sites,
			   sizeof(*b->sites)) ||
	    !mz_array_room((void **)&b->caches, &b->cap_caches, caches - a->caches,
			   sizeof(*b->caches)))
		return -ENOMEM;
	while (a->sites < sites) {
		size_t depth = 0;
		const uint64_t *ips = mz_tables_get_stack(t, ++a->sites, &depth);

		b->sites[b->nsites++] =
			ips && depth ? ips[mz_kallsyms_call_site(a->syms, ips, depth)] : 0;
		if (a->stacks && add_stack(b, ips, ips ? depth : 0) < 0)
			return -ENOMEM;
	}
	while (a->caches < caches) {
		size_t len = 0;
		const char *name = mz_tables_get_string(t, a->caches + 1, &len);

		b->caches[b->ncaches] = name ? strndup(name, len) : NULL;
		if (name && !b->caches[b->ncaches])
			return -ENOMEM;
		b->ncaches++;
		a->caches++;
	}
	return 0;
}

static bool make(void *arg, unsigned i)
{
	struct mz_kmem_readahead *a = arg;
	struct kmem_batch *b = &a->batch[i];

	forget(b);
	b->n = mz_reader_read_raw(a->r, b->ev, MZ_BATCH);
	if (b->n > 0 && a->r->ordered)
		memcpy(b->orders, a->r->orders, (size_t)b->n * sizeof(*b->orders));
	if (b->n > 0 && tell_new(a, b) < 0)
		b->n = -ENOMEM;
	return b->n > 0;
}

struct mz_kmem_readahead *mz_kmem_readahead_new(struct mz_reader *r, const struct mz_kallsyms *syms,
						bool threaded, bool stacks)
{
	struct mz_kmem_readahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->r = r;
	a->syms = syms;
	a->stacks = stacks;
	a->ahead = mz_readahead_new(make, a, MZ_READAHEAD, threaded);
	if (a->ahead)
		return a;
	free(a);
	return NULL;
}

void mz_kmem_readahead_free(struct mz_kmem_readahead *a)
{
	if (!a || mz_readahead_forked(a->ahead))
		return;
	mz_readahead_free(a->ahead);
	for (int i = 0; i < MZ_READAHEAD; i++) {
		forget(&a->batch[i]);
		free(a->batch[i].sites);
		free(a->batch[i].stacks);
		free(a->batch[i].caches);
	}
	free(a);
}

bool mz_kmem_readahead_forked(const struct mz_kmem_readahead *a)
{
	return mz_readahead_forked(a->ahead);
}

/* The batch that ended the file, or failed, is returned again and again: no other comes after
 * it. */
struct kmem_batch *mz_kmem_readahead_next(struct mz_kmem_readahead *a)
{
	if (!a->last || a->last->n > 0)
		a->last = &a->batch[mz_readahead_next(a->ahead)];
	return a->last;
}
