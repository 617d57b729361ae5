/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kmemtrace: hooks for what the kmem tracepoints do not show.
 *
 * Each hook is a tracepoint without an event: disabled, it costs what a
 * tracepoint costs. Without CONFIG_KMEMTRACE it is nothing, and its arguments
 * are not looked at.
 */
#ifndef _LINUX_KMEMTRACE_H
#define _LINUX_KMEMTRACE_H

#include <linux/types.h>

struct kmem_cache;
struct page;

#ifdef CONFIG_KMEMTRACE
#include <linux/tracepoint.h>

/* Pages were allocated for the one who called from @site; NULL = it failed. */
DECLARE_TRACE(kmemtrace_pages_alloc,
	TP_PROTO(struct page *page, unsigned int order, gfp_t gfp,
		 unsigned long site),
	TP_ARGS(page, order, gfp, site));

/* Pages are about to be freed. */
DECLARE_TRACE(kmemtrace_pages_free,
	TP_PROTO(struct page *page, unsigned int order, unsigned long site),
	TP_ARGS(page, order, site));

/* An allocation of @order became several of @new_order, freed one by one. */
DECLARE_TRACE(kmemtrace_pages_split,
	TP_PROTO(struct page *page, unsigned int order, unsigned int new_order,
		 unsigned long site),
	TP_ARGS(page, order, new_order, site));

/* All of @p were allocated from @s. */
DECLARE_TRACE(kmemtrace_bulk_alloc,
	TP_PROTO(struct kmem_cache *s, size_t size, void **p, gfp_t gfp,
		 unsigned long site),
	TP_ARGS(s, size, p, gfp, site));

/* All of @p are about to be freed; @s NULL: as by kfree(). */
DECLARE_TRACE(kmemtrace_bulk_free,
	TP_PROTO(struct kmem_cache *s, size_t size, void **p,
		 unsigned long site),
	TP_ARGS(s, size, p, site));

DECLARE_TRACE(kmemtrace_vmalloc,
	TP_PROTO(const void *addr, unsigned long req, unsigned long given,
		 gfp_t gfp, int node, unsigned long site),
	TP_ARGS(addr, req, given, gfp, node, site));

DECLARE_TRACE(kmemtrace_vfree,
	TP_PROTO(const void *addr, unsigned long site),
	TP_ARGS(addr, site));

#define kmemtrace_pages_alloc(...)	trace_kmemtrace_pages_alloc(__VA_ARGS__)
#define kmemtrace_pages_free(...)	trace_kmemtrace_pages_free(__VA_ARGS__)
#define kmemtrace_pages_split(...)	trace_kmemtrace_pages_split(__VA_ARGS__)
#define kmemtrace_bulk_alloc(...)	trace_kmemtrace_bulk_alloc(__VA_ARGS__)
#define kmemtrace_bulk_free(...)	trace_kmemtrace_bulk_free(__VA_ARGS__)
#define kmemtrace_vmalloc(...)		trace_kmemtrace_vmalloc(__VA_ARGS__)
#define kmemtrace_vfree(...)		trace_kmemtrace_vfree(__VA_ARGS__)

/* __alloc_pages() for the one who called from @site, see mm/page_alloc.c. */
struct page *__alloc_pages_from(gfp_t gfp, unsigned int order, int nid,
				nodemask_t *nodemask, unsigned long site);

/* Right after kmem_cache_init(): begin, into a static buffer. */
void kmemtrace_init(void);
/* When vmap() works: go on in relay. Interrupts are off, there is one CPU. */
void kmemtrace_relay_init(void);

#else

#define kmemtrace_pages_alloc(...)	do { } while (0)
#define kmemtrace_pages_free(...)	do { } while (0)
#define kmemtrace_pages_split(...)	do { } while (0)
#define kmemtrace_bulk_alloc(...)	do { } while (0)
#define kmemtrace_bulk_free(...)	do { } while (0)
#define kmemtrace_vmalloc(...)		do { } while (0)
#define kmemtrace_vfree(...)		do { } while (0)
#define __alloc_pages_from(gfp, order, nid, nodemask, site)		\
	__alloc_pages_noprof(gfp, order, nid, nodemask)
#define kmemtrace_init()		do { } while (0)
#define kmemtrace_relay_init()		do { } while (0)

#endif
#endif
