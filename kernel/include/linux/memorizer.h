/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memorizer: the code that allocates, frees and touches kernel memory. Hooks
 * for the allocators, for memory taken before them (memblock), for modules, and
 * for a task's fork, mark and cgroup. While Memorizer is off, a hook of an
 * allocator is a static branch; the rare ones (boot, tasks, modules) are plain
 * calls. Without the option, all of them compile to nothing.
 */
#ifndef _LINUX_MEMORIZER_H
#define _LINUX_MEMORIZER_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct kmem_cache;
struct page;
struct task_struct;

/* What allocated an object. Names in mm/memorizer/format.c, in the same order. */
enum memorizer_type {
	MEMORIZER_KMALLOC,
	MEMORIZER_KMEM_CACHE,
	MEMORIZER_PAGES,
	MEMORIZER_PAGES_EXACT,
	MEMORIZER_GETFREEPAGES,
	MEMORIZER_VMALLOC,
	MEMORIZER_PERCPU,
	MEMORIZER_STACK,
	MEMORIZER_STACK_FRAME,
	MEMORIZER_GLOBAL,
	MEMORIZER_GLOBAL_PERCPU,
	MEMORIZER_MODULE,
	MEMORIZER_MEMBLOCK,
	MEMORIZER_NR_TYPES,
};

#ifdef CONFIG_MEMORIZER

/* Objects are tracked. */
DECLARE_STATIC_KEY_FALSE(memorizer_on_key);
/* Objects may be known, so frees matter; stays on once it has been on. */
DECLARE_STATIC_KEY_FALSE(memorizer_known_key);

/*
 * The two as questions. Without jump labels the answer is a load: made by a
 * function of ours, or it would be counted as an access of the allocator.
 */
#ifdef CONFIG_JUMP_LABEL
#define memorizer_on()		static_branch_unlikely(&memorizer_on_key)
#define memorizer_known()	static_branch_unlikely(&memorizer_known_key)
#else
bool memorizer_on(void);
bool memorizer_known(void);
#endif

void __memorizer_slab_alloc(struct kmem_cache *s, void *p, size_t size,
			    unsigned long ip);
void __memorizer_slab_ctor(struct kmem_cache *s, void *p);
void __memorizer_slab_free(void *p, unsigned long ip);
void __memorizer_resize(const void *p, size_t size);
void __memorizer_pages_alloc(struct page *page, unsigned int order,
			     unsigned long ip);
void __memorizer_pages_free(struct page *page, unsigned int order,
			    unsigned long ip);
void __memorizer_pages_are(const void *addr, enum memorizer_type type,
			   size_t size, unsigned long ip);
void __memorizer_vmalloc(const void *addr, size_t size, unsigned long ip);
void __memorizer_vfree(const void *addr, unsigned long ip);
void __memorizer_range_free(const void *addr, size_t size, unsigned long ip);
void __memorizer_stack_alloc(const void *stack, size_t size, unsigned long ip);
void __memorizer_percpu_alloc(void __percpu *p, size_t size, unsigned long ip);
void __memorizer_percpu_free(void __percpu *p, unsigned long ip);

/**
 * memorizer_slab_alloc - a slab object was handed out
 * @s: its cache
 * @p: the object, may be %NULL
 * @size: bytes requested
 * @ip: the caller
 *
 * Before the object is zeroed, so that this is counted.
 */
static __always_inline void memorizer_slab_alloc(struct kmem_cache *s, void *p,
						 size_t size, unsigned long ip)
{
	if (memorizer_on())
		__memorizer_slab_alloc(s, p, size, ip);
}

/**
 * memorizer_slab_ctor - a constructor is about to run on a new slab's object
 * @s: its cache
 * @p: the object
 */
static __always_inline void memorizer_slab_ctor(struct kmem_cache *s, void *p)
{
	if (memorizer_on())
		__memorizer_slab_ctor(s, p);
}

/**
 * memorizer_slab_free - a slab object is about to be freed
 * @p: the object; nobody else can have it yet
 * @ip: the code that frees it
 */
static __always_inline void memorizer_slab_free(void *p, unsigned long ip)
{
	if (memorizer_known())
		__memorizer_slab_free(p, ip);
}

/**
 * memorizer_resize - an object keeps its address and gets another size
 * @p: the object
 * @size: bytes requested now
 */
static __always_inline void memorizer_resize(const void *p, size_t size)
{
	if (memorizer_known())
		__memorizer_resize(p, size);
}

/**
 * memorizer_pages_alloc - the page allocator hands out pages
 * @page: the first, may be %NULL
 * @order: how many
 * @ip: the caller
 */
static __always_inline void memorizer_pages_alloc(struct page *page,
						  unsigned int order,
						  unsigned long ip)
{
	if (memorizer_on())
		__memorizer_pages_alloc(page, order, ip);
}

/**
 * memorizer_pages_free - pages are about to go back to the page allocator
 * @page: the first
 * @order: how many
 * @ip: the code that frees them
 */
static __always_inline void memorizer_pages_free(struct page *page,
						 unsigned int order,
						 unsigned long ip)
{
	if (memorizer_known())
		__memorizer_pages_free(page, order, ip);
}

/**
 * memorizer_pages_are - say better what pages are that were just allocated
 * @addr: their address, may be %NULL
 * @type: what they are
 * @size: bytes requested
 * @ip: the caller
 */
static __always_inline void memorizer_pages_are(const void *addr,
						enum memorizer_type type,
						size_t size, unsigned long ip)
{
	if (memorizer_on())
		__memorizer_pages_are(addr, type, size, ip);
}

/**
 * memorizer_vmalloc - pages were mapped one after the other
 * @addr: where
 * @size: bytes requested
 * @ip: the caller
 */
static __always_inline void memorizer_vmalloc(const void *addr, size_t size,
					      unsigned long ip)
{
	if (memorizer_on())
		__memorizer_vmalloc(addr, size, ip);
}

/**
 * memorizer_vfree - what memorizer_vmalloc() reported is about to be unmapped
 * @addr: where
 * @ip: the code that frees it
 */
static __always_inline void memorizer_vfree(const void *addr, unsigned long ip)
{
	if (memorizer_known())
		__memorizer_vfree(addr, ip);
}

/**
 * memorizer_range_free - mapped pages are about to be unmapped or to rest
 * @addr: where
 * @size: bytes
 * @ip: the code that frees them
 */
static __always_inline void memorizer_range_free(const void *addr, size_t size,
						 unsigned long ip)
{
	if (memorizer_known())
		__memorizer_range_free(addr, size, ip);
}

/**
 * memorizer_stack_alloc - a task gets a stack, new or used
 * @stack: its lowest address
 * @size: bytes
 * @ip: the caller
 */
static __always_inline void memorizer_stack_alloc(const void *stack,
						  size_t size, unsigned long ip)
{
	if (memorizer_on())
		__memorizer_stack_alloc(stack, size, ip);
}

/**
 * memorizer_percpu_alloc - a percpu area was handed out
 * @p: its percpu pointer; each CPU's copy is an object of its own
 * @size: bytes requested
 * @ip: the caller
 */
static __always_inline void memorizer_percpu_alloc(void __percpu *p, size_t size,
						   unsigned long ip)
{
	if (memorizer_on())
		__memorizer_percpu_alloc(p, size, ip);
}

/**
 * memorizer_percpu_free - a percpu area is about to be freed
 * @p: its percpu pointer
 * @ip: the code that frees it
 */
static __always_inline void memorizer_percpu_free(void __percpu *p,
						  unsigned long ip)
{
	if (memorizer_known())
		__memorizer_percpu_free(p, ip);
}

unsigned long memorizer_code_start(unsigned long start, unsigned long end,
				   unsigned long size, unsigned long align);
void memorizer_memblock_caller(unsigned long ip);
void memorizer_memblock_alloc(phys_addr_t phys, size_t size);
void memorizer_memblock_free(phys_addr_t phys, size_t size);
void memorizer_memblock_end(void);
void memorizer_init(void);
void memorizer_task_fork(struct task_struct *task);
void memorizer_task_mark(struct task_struct *task, bool on);
bool memorizer_task_is_marked(struct task_struct *task);
void memorizer_task_owner(struct task_struct *task);

#else

static inline void memorizer_slab_alloc(struct kmem_cache *s, void *p,
					size_t size, unsigned long ip) { }
static inline void memorizer_slab_ctor(struct kmem_cache *s, void *p) { }
static inline void memorizer_slab_free(void *p, unsigned long ip) { }
static inline void memorizer_resize(const void *p, size_t size) { }
static inline void memorizer_pages_alloc(struct page *page, unsigned int order,
					 unsigned long ip) { }
/* A macro: even unused, what is handed over may change the code beside it. */
#define memorizer_pages_free(page, order, ip)	do { } while (0)
static inline void memorizer_pages_are(const void *addr,
				       enum memorizer_type type, size_t size,
				       unsigned long ip) { }
static inline void memorizer_vmalloc(const void *addr, size_t size,
				     unsigned long ip) { }
static inline void memorizer_vfree(const void *addr, unsigned long ip) { }
static inline void memorizer_range_free(const void *addr, size_t size,
					unsigned long ip) { }
static inline void memorizer_stack_alloc(const void *stack, size_t size,
					 unsigned long ip) { }
#define memorizer_percpu_alloc(p, size, ip)	do { } while (0)
static inline void memorizer_percpu_free(void __percpu *p, unsigned long ip) { }
/* A macro: the code beside it stays as it was. */
#define memorizer_code_start(start, end, size, align)	(start)
static inline void memorizer_memblock_caller(unsigned long ip) { }
static inline void memorizer_memblock_alloc(phys_addr_t phys, size_t size) { }
static inline void memorizer_memblock_free(phys_addr_t phys, size_t size) { }
static inline void memorizer_memblock_end(void) { }
static inline void memorizer_init(void) { }
static inline void memorizer_task_fork(struct task_struct *task) { }
static inline void memorizer_task_owner(struct task_struct *task) { }

#endif /* CONFIG_MEMORIZER */

#endif /* _LINUX_MEMORIZER_H */
