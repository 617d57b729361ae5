// SPDX-License-Identifier: GPL-2.0
/*
 * Called by the allocators. Allocation hooks run when the memory is the
 * caller's, free hooks while it still is, so that no other CPU can get between
 * an object and the next one at the same address.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/percpu.h>

#include "../slab.h"
#include "memorizer.h"

DEFINE_STATIC_KEY_FALSE(memorizer_on_key);
DEFINE_STATIC_KEY_FALSE(memorizer_known_key);
EXPORT_SYMBOL_GPL(memorizer_on_key);
EXPORT_SYMBOL_GPL(memorizer_known_key);

#ifndef CONFIG_JUMP_LABEL
bool memorizer_on(void)
{
	return static_branch_unlikely(&memorizer_on_key);
}
EXPORT_SYMBOL_GPL(memorizer_on);

bool memorizer_known(void)
{
	return static_branch_unlikely(&memorizer_known_key);
}
EXPORT_SYMBOL_GPL(memorizer_known);
#endif

/*
 * Hooks use maps and objects, which must not be given back meanwhile. A hook
 * may take long (a percpu area has one copy per CPU), so its end is a
 * preemption point, like the end of a tracepoint. That is safe: the hook no
 * longer holds anything, and allocators are not entered with access to user
 * memory enabled.
 */
#define hook_begin()	preempt_disable_notrace()
#define hook_end()	preempt_enable_notrace()

/* The map's entry for the object at @p. For maps of slabs only. */
static struct memorizer_object **slab_entry(struct memorizer_map *map, void *p)
{
	unsigned long phys = memorizer_phys((unsigned long)p);

	return &map->objs[memorizer_index(map, phys)];
}

/*
 * A new object at @p. Accesses find it from the moment its entry is exchanged.
 * If the entry held an older object, its free was not seen, and it ends now.
 */
static void put_slab_object(struct kmem_cache *s, void *p, size_t size,
			    unsigned long ip, u8 flags)
{
	struct memorizer_object *obj, *old, **entry;
	struct memorizer_map *map;

	map = memorizer_slab_map(s, p);
	if (!map) {
		this_cpu_inc(memorizer_cpu.objects_seen);
		memorizer_miss(OBJECT_MAP);
		memorizer_kick_worker();
		return;
	}
	entry = slab_entry(map, p);
	old = READ_ONCE(*entry);
	/*
	 * Its constructor has run: the accesses of the constructor belong to
	 * this object.
	 */
	if (old && old->flags & OBJ_CTOR && !flags) {
		memorizer_take_over(old, ip);
		return;
	}
	obj = memorizer_create(s->flags & SLAB_KMALLOC ? MEMORIZER_KMALLOC :
			       MEMORIZER_KMEM_CACHE, (unsigned long)p, size,
			       s->object_size, ip);
	if (obj) {
		obj->cache = memorizer_cache_id(s);
		obj->flags = flags;
	}
	old = xchg(entry, obj);
	if (old)
		memorizer_overlay(old);
}

void __memorizer_slab_alloc(struct kmem_cache *s, void *p, size_t size,
			    unsigned long ip)
{
	struct memorizer_object *old, **entry;
	struct memorizer_map *map;
	unsigned long phys;

	if (!p)
		return;
	hook_begin();
	if (memorizer_selected()) {
		put_slab_object(s, p, size, ip, 0);
	} else if (s->ctor) {
		/* Constructed while we recorded, allocated by a task that we do not. */
		phys = memorizer_phys((unsigned long)p);
		map = phys == MEMORIZER_NO_PHYS ? memorizer_no_map :
			READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
		if (map->kind == MAP_SLAB) {
			entry = slab_entry(map, p);
			old = xchg(entry, NULL);
			if (old)
				memorizer_kill(old, ip);
		}
	}
	hook_end();
}

void __memorizer_slab_ctor(struct kmem_cache *s, void *p)
{
	hook_begin();
	if (memorizer_selected())
		put_slab_object(s, p, s->object_size, 0, OBJ_CTOR);
	hook_end();
}

/*
 * Does not check whether the task is selected: a recorded object is followed to
 * its end, no matter which task frees it. Freeing an object twice is a bug of
 * the kernel; the exchange lets only one of the frees end the record.
 */
void __memorizer_slab_free(void *p, unsigned long ip)
{
	unsigned long phys = memorizer_phys((unsigned long)p);
	struct memorizer_object *obj;
	struct memorizer_map *map;

	if (phys == MEMORIZER_NO_PHYS)
		return;
	hook_begin();
	map = READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
	if (map->kind == MAP_SLAB && READ_ONCE(*slab_entry(map, p))) {
		obj = xchg(slab_entry(map, p), NULL);
		if (obj)
			memorizer_kill(obj, ip);
	}
	hook_end();
}

/* krealloc() within the size that was given: same object and counts, new size. */
void __memorizer_resize(const void *p, size_t size)
{
	struct memorizer_object *obj;

	hook_begin();
	obj = memorizer_find((unsigned long)p);
	if (obj)
		obj->size = size;
	hook_end();
}

/* Memory that was added after boot has no entry in the table. */
static bool in_table(unsigned long pfn, unsigned long nr)
{
	return pfn + nr <= memorizer_ram >> PAGE_SHIFT;
}

void __memorizer_pages_alloc(struct page *page, unsigned int order,
			     unsigned long ip)
{
	unsigned long pfn, i, nr = 1UL << order;
	struct memorizer_object *obj;

	if (!page)
		return;
	hook_begin();
	pfn = page_to_pfn(page);
	if (!in_table(pfn, nr)) {
		this_cpu_inc(memorizer_cpu.objects_seen);
		memorizer_miss(OBJECT_MAP);
		goto out;
	}
	/* Nothing may be left here from before; if it is, its free was missed. */
	for (i = 0; i < nr; i++) {
		if (READ_ONCE(memorizer_pages[pfn + i]) == memorizer_no_map)
			continue;
		if (memorizer_pages[pfn + i]->kind == MAP_OBJECT)
			memorizer_overlay(container_of(memorizer_pages[pfn + i],
						       struct memorizer_object, map));
		memorizer_page_clear(pfn + i, 0);
	}
	/* The sweep above is done for all tasks, the record made for selected ones. */
	if (!memorizer_selected())
		goto out;
	obj = memorizer_create(MEMORIZER_PAGES,
			       (unsigned long)page_to_virt(page),
			       nr << PAGE_SHIFT, nr << PAGE_SHIFT, ip);
	if (!obj)
		goto out;
	/* Pages may be freed one by one: the object lives until its last page is gone. */
	obj->map.pages = nr;
	for (i = 0; i < nr; i++)
		WRITE_ONCE(memorizer_pages[pfn + i], &obj->map);
out:
	hook_end();
}

void __memorizer_pages_free(struct page *page, unsigned int order,
			    unsigned long ip)
{
	unsigned long pfn = page_to_pfn(page), i, nr = 1UL << order;

	if (!in_table(pfn, nr))
		return;
	hook_begin();
	for (i = 0; i < nr; i++)
		if (READ_ONCE(memorizer_pages[pfn + i]) != memorizer_no_map)
			memorizer_page_clear(pfn + i, ip);
	hook_end();
}

/*
 * The caller of the page allocator knows better what the pages are for. The
 * record keeps its counts and changes its type, under the lock, because the
 * totals by type change with it.
 */
void __memorizer_pages_are(const void *addr, enum memorizer_type type,
			   size_t size, unsigned long ip)
{
	struct memorizer_object *obj;
	unsigned long flags;

	if (!addr || !memorizer_selected())
		return;
	hook_begin();
	obj = memorizer_find((unsigned long)addr);
	if (obj && obj->map.kind == MAP_OBJECT) {
		obj->size = size;
		obj->alloc_ip = memorizer_pack_ip(ip);
		flags = memorizer_lock();
		if (obj->state == OBJ_LIVE) {
			memorizer_totals.created[obj->type]--;
			memorizer_totals.live[obj->type]--;
			obj->type = type;
			memorizer_totals.created[type]++;
			memorizer_totals.live[type]++;
		}
		memorizer_unlock(flags);
	}
	hook_end();
}

/* No access would find the object, nor would its end: it counts as missed. */
static void without_place(struct memorizer_object *obj)
{
	memorizer_forget(obj);
	this_cpu_inc(memorizer_cpu.objects_seen);
	memorizer_miss(OBJECT_MAP);
}

/* One object for a range of mapped pages, each of which has a map of its own. */
static void map_new(enum memorizer_type type, const void *addr, size_t size,
		    unsigned long ip)
{
	struct memorizer_object *obj;

	obj = memorizer_create(type, (unsigned long)addr, size,
			       PAGE_ALIGN(size), ip);
	if (obj && !memorizer_map_object(obj, (unsigned long)addr, size))
		without_place(obj);
}

void __memorizer_vmalloc(const void *addr, size_t size, unsigned long ip)
{
	hook_begin();
	if (memorizer_selected())
		map_new(MEMORIZER_VMALLOC, addr, size, ip);
	hook_end();
}

/* The pages are not free yet, so that nothing new can be in the maps. */
void __memorizer_range_free(const void *addr, size_t size, unsigned long ip)
{
	unsigned long va = (unsigned long)addr, end = va + size, phys;

	hook_begin();
	for (; va < end; va += PAGE_SIZE) {
		phys = memorizer_phys(va);
		if (phys != MEMORIZER_NO_PHYS)
			memorizer_page_clear(phys >> PAGE_SHIFT, ip);
	}
	hook_end();
}

void __memorizer_vfree(const void *addr, unsigned long ip)
{
	unsigned long va = (unsigned long)addr;
	struct memorizer_object *obj;
	size_t size = 0;

	hook_begin();
	/* Only the record has the size; without a record there is nothing to end. */
	obj = memorizer_find(va);
	if (obj && obj->va == va)
		size = obj->size;
	hook_end();
	__memorizer_range_free(addr, size, ip);
}

/*
 * The kernel keeps the stacks of dead tasks and reuses them without an
 * allocation. The object may therefore have to be made here; otherwise it
 * exists already and only gets its type.
 */
void __memorizer_stack_alloc(const void *stack, size_t size, unsigned long ip)
{
	struct memorizer_object *obj;

	if (!memorizer_selected())
		return;
	hook_begin();
	obj = memorizer_find((unsigned long)stack);
	if (!obj)
		map_new(MEMORIZER_STACK, stack, size, ip);
	hook_end();
	if (obj)
		__memorizer_pages_are(stack, MEMORIZER_STACK, size, ip);
}

/* Enter @new for each granule of a percpu copy, or take @old out. */
static bool percpu_set(unsigned long va, size_t size, struct memorizer_object *old,
		       struct memorizer_object *new)
{
	struct memorizer_region_page *rp = NULL;
	struct memorizer_object **entry;
	unsigned long a, phys = 0;
	bool whole = true;

	for (a = va; a < va + size; a += 4) {
		if (!rp || !(a & ~PAGE_MASK)) {
			phys = memorizer_phys(a);
			if (phys == MEMORIZER_NO_PHYS)
				return false;
			rp = memorizer_region_page(phys, a, 2, NULL);
			if (!rp)
				return false;
			if (rp->shift != 2)
				return false;
		}
		entry = &rp->map.objs[(a & ~PAGE_MASK) >> 2];
		if (cmpxchg(entry, old, new) != old)
			whole = false;
	}
	return whole;
}

static void percpu_copy_alloc(unsigned long va, size_t size, unsigned long ip)
{
	struct memorizer_object *obj;

	obj = memorizer_create(MEMORIZER_PERCPU, va, size, ALIGN(size, 4), ip);
	/* Half an object would count only half of its accesses. */
	if (obj && !percpu_set(va, size, NULL, obj)) {
		percpu_set(va, size, obj, NULL);
		without_place(obj);
	}
}

void __memorizer_percpu_alloc(void __percpu *p, size_t size, unsigned long ip)
{
	int cpu;

	if (!p)
		return;
	hook_begin();
	if (memorizer_selected())
		for_each_possible_cpu(cpu)
			percpu_copy_alloc((unsigned long)per_cpu_ptr(p, cpu), size, ip);
	hook_end();
}

static void percpu_copy_free(unsigned long va, unsigned long ip)
{
	struct memorizer_object *obj = memorizer_find(va);

	/* The copy of a CPU has no object if there was no memory for its record. */
	if (!obj || obj->type != MEMORIZER_PERCPU || obj->va != va)
		return;
	percpu_set(va, obj->size, obj, NULL);
	memorizer_kill(obj, ip);
}

void __memorizer_percpu_free(void __percpu *p, unsigned long ip)
{
	int cpu;

	if (!p)
		return;
	hook_begin();
	for_each_possible_cpu(cpu)
		percpu_copy_free((unsigned long)per_cpu_ptr(p, cpu), ip);
	hook_end();
}
