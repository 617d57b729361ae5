// SPDX-License-Identifier: BSD-2-Clause
/* Classify inconsistencies of a kernel trace by their cause. */
/*
 * Some paths of the kernel have no tracepoint (bulk allocation, bulk and batched RCU frees), and
 * events may be lost: what such a gap explains is not an error of the kernel. Only what nothing
 * explains is called a bug.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem.h"
#include "base/array.h"

static const char *const whats[MZ_KMEM_WHATS] = {
	[MZ_KMEM_FREE_KMALLOC] = "kmem_cache_free of kmalloc memory",
	[MZ_KMEM_WRONG_CACHE] = "freed to another cache",
	[MZ_KMEM_TOO_SMALL] = "less given than asked for",
	[MZ_KMEM_DOUBLE_FREE] = "freed twice",
	[MZ_KMEM_KFREE_CACHE] = "kfree of a cache's object",
	[MZ_KMEM_UNSEEN_FREE] = "a free that no tracepoint shows",
	[MZ_KMEM_UNSEEN_ALLOC] = "an allocation that no tracepoint shows",
};

static const char *const classes[MZ_KMEM_CLASSES] = {
	[MZ_KMEM_BUG] = "bug",
	[MZ_KMEM_LEGAL] = "legal mixture",
	[MZ_KMEM_BLIND] = "blind spot of the tracer",
	[MZ_KMEM_LOSS] = "effect of lost events",
};

const char *mz_kmem_what_name(enum mz_kmem_what what)
{
	return (unsigned)what < MZ_KMEM_WHATS ? whats[what] : NULL;
}

const char *mz_kmem_class_name(enum mz_kmem_class class)
{
	return (unsigned)class < MZ_KMEM_CLASSES ? classes[class] : NULL;
}

static int by_from(const void *a, const void *b)
{
	const struct mz_kmem_gap *x = a, *y = b;

	return MZ_ORDER(x->from, y->from);
}

/* Were events lost, on any CPU, between the two times? The gaps are sorted by
 * their start; reach[i] is the latest end of the first i + 1. */
static bool lost_between(const struct mz_kmem_report *r, const uint64_t *reach, uint64_t from,
			 uint64_t to)
{
	size_t n = mz_array_not_above(r->gaps, r->ngaps, sizeof(*r->gaps),
				      offsetof(struct mz_kmem_gap, from), to);

	return n && reach[n - 1] >= from;
}

/*
 * The following functions look for signs that blocks are allocated or freed on paths without a
 * tracepoint. Each sign holds for any kernel, because it rests on what no allocator does. A sign
 * can only make a finding less severe, never more.
 */

/* Caches that are known to be used in bulk. A short trace need not show it. */
static bool is_bulk_cache(const char *name)
{
	static const char *const bulk[] = {"maple_node",     "bio",    "skbuff_",
					   "io_kiocb",	     "btrfs_", "radix_tree_node",
					   "vm_area_struct", "xfs_",   "request_sock"};

	for (size_t i = 0; i < sizeof(bulk) / sizeof(*bulk); i++)
		if (!strncmp(name, bulk[i], strlen(bulk[i])))
			return true;
	return false;
}

/* Two frees in a row at one address are a bug or an unseen allocation. If the same happens at two
 * more addresses of the cache, it is a path of the kernel. */
#define A_WAY 3

/* No allocator gives out a block that is in use: if the trace shows this, a free was not seen. */
static bool has_blind_ways(const struct mz_kmem_report *r, uint32_t cache)
{
	const struct mz_kmem_group *g = mz_kmem_cache_group(r, cache);
	char name[300];

	if (!g)
		return false;
	if (g->unseen || g->again >= A_WAY)
		return true;
	return cache < MZ_KMEM_CLASS &&
	       is_bulk_cache(mz_kmem_cache_text(r, cache, name, sizeof(name)));
}

static bool site_ends_unseen(const struct mz_kmem_report *r, uint32_t site)
{
	return site < r->nsites && r->sites[site].unseen;
}

/* Code that frees other blocks whose allocation was not seen: the allocation of this one need
 * not have been seen either. */
static bool frees_unseen(const struct mz_kmem_report *r, uint32_t site)
{
	return site < r->nsites && r->sites[site].unknown + r->sites[site].again >= 2;
}

/* Nothing was lost: is it an error of the kernel, or a blind spot? */
static enum mz_kmem_class judge(const struct mz_kmem_report *r, struct mz_kmem_finding *f)
{
	switch (f->what) {
	case MZ_KMEM_TOO_SMALL: return MZ_KMEM_BUG;
	case MZ_KMEM_KFREE_CACHE: return MZ_KMEM_LEGAL;
	case MZ_KMEM_FREE_KMALLOC:
	case MZ_KMEM_WRONG_CACHE:
		/* else it was freed unseen, and the page went to another cache */
		if (f->recycled || has_blind_ways(r, f->cache) || has_blind_ways(r, f->cache2) ||
		    site_ends_unseen(r, f->site))
			break;
		return MZ_KMEM_BUG;
	case MZ_KMEM_DOUBLE_FREE:
		if (f->recycled || has_blind_ways(r, f->cache) || has_blind_ways(r, f->cache2) ||
		    frees_unseen(r, f->site2)) {
			f->what = MZ_KMEM_UNSEEN_ALLOC;
			break;
		}
		return MZ_KMEM_BUG;
	default: break;
	}
	return MZ_KMEM_BLIND;
}

void mz_kmem_classify(struct mz_kmem_report *r)
{
	uint64_t *reach = malloc((r->ngaps + 1) * sizeof(*reach));

	if (r->ngaps)
		qsort(r->gaps, r->ngaps, sizeof(*r->gaps), by_from);
	for (size_t i = 0; reach && i < r->ngaps; i++)
		reach[i] = i && reach[i - 1] > r->gaps[i].to ? reach[i - 1] : r->gaps[i].to;
	for (size_t i = 0; i < r->nfindings; i++) {
		struct mz_kmem_finding *f = &r->findings[i];

		/* a size that is too small needs nothing else to be wrong */
		if (f->what != MZ_KMEM_TOO_SMALL && f->what != MZ_KMEM_KFREE_CACHE && r->ngaps &&
		    (!reach || lost_between(r, reach, f->from, f->to)))
			f->class = MZ_KMEM_LOSS;
		else
			f->class = (uint8_t)judge(r, f);
		r->counts[f->class][f->what]++;
	}
	free(reach);
}
