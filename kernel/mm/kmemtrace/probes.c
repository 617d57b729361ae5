// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: the probes. Allocations are reported after they happened, frees
 * before, so that the free of a pointer always has a smaller number than the
 * next allocation at that address.
 */
#include <linux/kmemtrace.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <trace/events/kmem.h>

#include "../slab.h"
#include "kmemtrace.h"

DEFINE_STATIC_KEY_FALSE(kmemtrace_hooks);

static __always_inline u32 cache_id(const struct kmem_cache *s)
{
	u32 id = READ_ONCE(s->kmemtrace_id);

	return likely(id) ? id : kmemtrace_new_cache((struct kmem_cache *)s);
}

/* ---- the slab allocator -------------------------------------------------- */

static void on_kmalloc(void *data, unsigned long site, const void *ptr, size_t req,
		       size_t given, gfp_t gfp, int node)
{
	struct kmemtrace_sizes sizes = { req, given, (__force u32)gfp, node };

	kmemtrace_record(KMEMTRACE_KMALLOC, KMEMTRACE_PLAIN, site, ptr, &sizes, 0);
}

static void on_cache_alloc(void *data, unsigned long site, const void *ptr,
			   struct kmem_cache *s, gfp_t gfp, int node)
{
	struct kmemtrace_sizes sizes = { s->object_size, s->size, (__force u32)gfp, node };

	kmemtrace_record(KMEMTRACE_CACHE, KMEMTRACE_PLAIN, site, ptr, &sizes, cache_id(s));
}

/* kfree(NULL) frees nothing: it is counted, and takes no number. */
static void on_kfree(void *data, unsigned long site, const void *ptr)
{
	if (ZERO_OR_NULL_PTR(ptr))
		this_cpu_inc(kmemtrace_cpu.nulls);
	else
		kmemtrace_record(KMEMTRACE_KMALLOC, KMEMTRACE_PLAIN, site, ptr, NULL, 0);
}

static void on_cache_free(void *data, unsigned long site, const void *ptr,
			  const struct kmem_cache *s)
{
	kmemtrace_record(KMEMTRACE_CACHE, KMEMTRACE_PLAIN, site, ptr, NULL, cache_id(s));
}

/* Bulk calls have no tracepoint: each object is an event like any other. */
void kmemtrace_on_bulk_alloc(struct kmem_cache *s, size_t size, void **p,
			     gfp_t gfp, unsigned long site)
{
	size_t i;

	for (i = 0; i < size; i++)
		on_cache_alloc(NULL, site, p[i], s, gfp, NUMA_NO_NODE);
}

void kmemtrace_on_bulk_free(struct kmem_cache *s, size_t size, void **p,
			    unsigned long site)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (s)
			on_cache_free(NULL, site, p[i], s);
		else
			on_kfree(NULL, site, p[i]);
	}
}

/* ---- the page allocator -------------------------------------------------- */

void kmemtrace_on_pages_alloc(struct page *page, unsigned int order, gfp_t gfp,
			      unsigned long site)
{
	struct kmemtrace_sizes sizes = { PAGE_SIZE << order, PAGE_SIZE << order,
					 (__force u32)gfp, NUMA_NO_NODE };

	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_PLAIN, site,
			 page ? page_address(page) : NULL, &sizes, 0);
}

void kmemtrace_on_pages_free(struct page *page, unsigned int order,
			     unsigned long site)
{
	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_PLAIN, site, page_address(page), NULL, 0);
}

/* The whole block is freed, and its parts are allocated. */
void kmemtrace_on_pages_split(struct page *page, unsigned int order,
			      unsigned int new_order, unsigned long site)
{
	unsigned int i;

	kmemtrace_on_pages_free(page, order, site);
	for (i = 0; i < 1u << order; i += 1u << new_order)
		kmemtrace_on_pages_alloc(page + i, new_order, 0, site);
}

/* ---- vmalloc ------------------------------------------------------------- */

void kmemtrace_on_vmalloc(const void *addr, unsigned long req,
			  unsigned long given, gfp_t gfp, int node, unsigned long site)
{
	struct kmemtrace_sizes sizes = { req, given, (__force u32)gfp, node };

	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_VMALLOC, site, addr, &sizes, 0);
}

void kmemtrace_on_vfree(const void *addr, unsigned long site)
{
	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_VMALLOC, site, addr, NULL, 0);
}

/* ---- on and off ---------------------------------------------------------- */

#define PROBES(each)						\
	each(kmalloc, on_kmalloc)				\
	each(kmem_cache_alloc, on_cache_alloc)			\
	each(kfree, on_kfree)					\
	each(kmem_cache_free, on_cache_free)

#define REGISTER(name, probe)	ret = ret ?: register_trace_##name(probe, NULL);
#define UNREGISTER(name, probe)	unregister_trace_##name(probe, NULL);

/* A hook in progress reads the switch with interrupts off: RCU waits for it. */
void kmemtrace_probes_unregister(void)
{
	static_branch_disable(&kmemtrace_hooks);
	PROBES(UNREGISTER)
	tracepoint_synchronize_unregister();
}

int kmemtrace_probes_register(void)
{
	int ret = 0;

	PROBES(REGISTER)
	if (ret)
		kmemtrace_probes_unregister();
	else
		static_branch_enable(&kmemtrace_hooks);
	return ret;
}
