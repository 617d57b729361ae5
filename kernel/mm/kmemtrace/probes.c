// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: the probes. Allocations are told after, frees before they
 * happen, so that of one pointer a free always has a smaller number than the
 * next allocation.
 */
#include <linux/kmemtrace.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <trace/events/kmem.h>

#include "../slab.h"
#include "kmemtrace.h"

DEFINE_TRACE(kmemtrace_pages_alloc,
	TP_PROTO(struct page *page, unsigned int order, gfp_t gfp,
		 unsigned long site),
	TP_ARGS(page, order, gfp, site));
DEFINE_TRACE(kmemtrace_pages_free,
	TP_PROTO(struct page *page, unsigned int order, unsigned long site),
	TP_ARGS(page, order, site));
DEFINE_TRACE(kmemtrace_pages_split,
	TP_PROTO(struct page *page, unsigned int order, unsigned int new_order,
		 unsigned long site),
	TP_ARGS(page, order, new_order, site));
DEFINE_TRACE(kmemtrace_bulk_alloc,
	TP_PROTO(struct kmem_cache *s, size_t size, void **p, gfp_t gfp,
		 unsigned long site),
	TP_ARGS(s, size, p, gfp, site));
DEFINE_TRACE(kmemtrace_bulk_free,
	TP_PROTO(struct kmem_cache *s, size_t size, void **p,
		 unsigned long site),
	TP_ARGS(s, size, p, site));
DEFINE_TRACE(kmemtrace_vmalloc,
	TP_PROTO(const void *addr, unsigned long req, unsigned long given,
		 gfp_t gfp, int node, unsigned long site),
	TP_ARGS(addr, req, given, gfp, node, site));
DEFINE_TRACE(kmemtrace_vfree,
	TP_PROTO(const void *addr, unsigned long site),
	TP_ARGS(addr, site));

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

static void on_bulk_alloc(void *data, struct kmem_cache *s, size_t size, void **p,
			  gfp_t gfp, unsigned long site)
{
	size_t i;

	for (i = 0; i < size; i++)
		on_cache_alloc(NULL, site, p[i], s, gfp, NUMA_NO_NODE);
}

static void on_bulk_free(void *data, struct kmem_cache *s, size_t size, void **p,
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

static void on_pages_alloc(void *data, struct page *page, unsigned int order, gfp_t gfp,
			   unsigned long site)
{
	struct kmemtrace_sizes sizes = { PAGE_SIZE << order, PAGE_SIZE << order,
					 (__force u32)gfp, NUMA_NO_NODE };

	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_PLAIN, site,
			 page ? page_address(page) : NULL, &sizes, 0);
}

static void on_pages_free(void *data, struct page *page, unsigned int order,
			  unsigned long site)
{
	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_PLAIN, site, page_address(page), NULL, 0);
}

/* The whole goes, its parts come. */
static void on_pages_split(void *data, struct page *page, unsigned int order,
			   unsigned int new_order, unsigned long site)
{
	unsigned int i;

	on_pages_free(NULL, page, order, site);
	for (i = 0; i < 1u << order; i += 1u << new_order)
		on_pages_alloc(NULL, page + i, new_order, 0, site);
}

void kmemtrace_note_pages(struct page *page, unsigned int order, unsigned long site)
{
	on_pages_alloc(NULL, page, order, GFP_KERNEL, site);
}

/* ---- vmalloc ------------------------------------------------------------- */

static void on_vmalloc(void *data, const void *addr, unsigned long req,
		       unsigned long given, gfp_t gfp, int node, unsigned long site)
{
	struct kmemtrace_sizes sizes = { req, given, (__force u32)gfp, node };

	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_VMALLOC, site, addr, &sizes, 0);
}

static void on_vfree(void *data, const void *addr, unsigned long site)
{
	kmemtrace_record(KMEMTRACE_PAGES, KMEMTRACE_VMALLOC, site, addr, NULL, 0);
}

/* ---- on and off ---------------------------------------------------------- */

#define PROBES(each)						\
	each(kmalloc, on_kmalloc)				\
	each(kmem_cache_alloc, on_cache_alloc)			\
	each(kfree, on_kfree)					\
	each(kmem_cache_free, on_cache_free)			\
	each(kmemtrace_bulk_alloc, on_bulk_alloc)		\
	each(kmemtrace_bulk_free, on_bulk_free)			\
	each(kmemtrace_pages_alloc, on_pages_alloc)		\
	each(kmemtrace_pages_free, on_pages_free)		\
	each(kmemtrace_pages_split, on_pages_split)		\
	each(kmemtrace_vmalloc, on_vmalloc)			\
	each(kmemtrace_vfree, on_vfree)

#define REGISTER(name, probe)	ret = ret ?: register_trace_##name(probe, NULL);
#define UNREGISTER(name, probe)	unregister_trace_##name(probe, NULL);

void kmemtrace_probes_unregister(void)
{
	PROBES(UNREGISTER)
	tracepoint_synchronize_unregister();
}

int kmemtrace_probes_register(void)
{
	int ret = 0;

	PROBES(REGISTER)
	if (ret)
		kmemtrace_probes_unregister();
	return ret;
}
