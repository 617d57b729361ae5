/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kmemtrace: hooks for what the kmem tracepoints do not show.
 *
 * Switched off, a hook costs what a disabled tracepoint costs. One switch
 * controls all of them, so that it takes effect at once: patching code
 * interrupts every CPU. Without CONFIG_KMEMTRACE a hook is empty, and its
 * arguments are not evaluated.
 */
#ifndef _LINUX_KMEMTRACE_H
#define _LINUX_KMEMTRACE_H

#include <linux/types.h>
#include <linux/version.h>

struct kmem_cache;
struct page;

#ifdef CONFIG_KMEMTRACE
#include <linux/jump_label.h>
#include <linux/nodemask.h>

DECLARE_STATIC_KEY_FALSE(kmemtrace_hooks);

/* Pages were allocated for the caller at @site; NULL = it failed. */
void kmemtrace_on_pages_alloc(struct page *page, unsigned int order, gfp_t gfp,
			      unsigned long site);
/* Pages are about to be freed. */
void kmemtrace_on_pages_free(struct page *page, unsigned int order,
			     unsigned long site);
/* An allocation of @order became several of @new_order, freed one by one. */
void kmemtrace_on_pages_split(struct page *page, unsigned int order,
			      unsigned int new_order, unsigned long site);
/* All of @p were allocated from @s. */
void kmemtrace_on_bulk_alloc(struct kmem_cache *s, size_t size, void **p,
			     gfp_t gfp, unsigned long site);
/* All of @p are about to be freed; @s NULL: as by kfree(). */
void kmemtrace_on_bulk_free(struct kmem_cache *s, size_t size, void **p,
			    unsigned long site);
void kmemtrace_on_vmalloc(const void *addr, unsigned long req,
			  unsigned long given, gfp_t gfp, int node,
			  unsigned long site);
void kmemtrace_on_vfree(const void *addr, unsigned long site);

#define kmemtrace_hook(name, ...)					\
do {									\
	if (static_branch_unlikely(&kmemtrace_hooks))			\
		kmemtrace_on_##name(__VA_ARGS__);			\
} while (0)

#define kmemtrace_pages_alloc(...)	kmemtrace_hook(pages_alloc, __VA_ARGS__)
#define kmemtrace_pages_free(...)	kmemtrace_hook(pages_free, __VA_ARGS__)
#define kmemtrace_pages_split(...)	kmemtrace_hook(pages_split, __VA_ARGS__)
#define kmemtrace_bulk_alloc(...)	kmemtrace_hook(bulk_alloc, __VA_ARGS__)
#define kmemtrace_bulk_free(...)	kmemtrace_hook(bulk_free, __VA_ARGS__)
#define kmemtrace_vmalloc(...)		kmemtrace_hook(vmalloc, __VA_ARGS__)
#define kmemtrace_vfree(...)		kmemtrace_hook(vfree, __VA_ARGS__)

/* __alloc_pages() for the caller at @site, see mm/page_alloc.c. */
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
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define __alloc_pages_from(gfp, order, nid, nodemask, site)		\
	__alloc_pages_noprof(gfp, order, nid, nodemask)
#else
#define __alloc_pages_from(gfp, order, nid, nodemask, site)		\
	__alloc_pages(gfp, order, nid, nodemask)
#endif
#define kmemtrace_init()		do { } while (0)
#define kmemtrace_relay_init()		do { } while (0)

#endif
#endif
