// SPDX-License-Identifier: GPL-2.0
/*
 * From an address to its object: one pointer for each page of RAM, and what it
 * points to says how the page is divided.
 *
 * Everything goes by physical address. Memory that is mapped a second time
 * (vmalloc, percpu, modules, the page array) is found through the page table,
 * so that there is one truth for each byte however it is reached.
 *
 * Entries are replaced with xchg or cmpxchg: the path that takes an object out
 * of its entry ends it. Maps go to limbo and are given back after a grace
 * period.
 */
#include <linux/mm.h>

#include "../slab.h"
#include "memorizer.h"

/* A map with one entry, so that no lookup needs to test for NULL. */
struct single_map {
	struct memorizer_map map;
	struct memorizer_object *obj;
};

static struct single_map no_map = { .map = { .kind = MAP_NONE, .nr = 1 } };
/* The same, when it is known what the page is used for. */
static struct single_map page_map = {
	.map = { .kind = MAP_NONE, .nr = 1, .miss = NO_OBJ_PAGE }
};
static struct single_map slab_map = {
	.map = { .kind = MAP_NONE, .nr = 1, .miss = NO_OBJ_SLAB }
};
static struct single_map own_map = { .map = { .kind = MAP_OWN, .nr = 1 } };

unsigned long memorizer_vmemmap[MEMORIZER_VMEMMAP_PIECES];
struct memorizer_map **memorizer_pages;
unsigned long memorizer_ram;
unsigned long memorizer_direct_base, memorizer_image_base, memorizer_page_base;
unsigned long memorizer_vmemmap_base;
struct memorizer_map *memorizer_no_map = &no_map.map;

static struct memorizer_map *limbo;
unsigned int memorizer_limbo;

/*
 * The distance of the page array from the memory that it lies in. 0 if it lies in
 * several pieces, as it does where RAM has holes and on machines with several
 * nodes: addresses in the array are then beyond all RAM for the entries, which
 * look them up piece by piece.
 */
static unsigned long page_array_distance(void)
{
	unsigned long i, piece;

	for (i = 0; i < MEMORIZER_VMEMMAP_PIECES; i++) {
		piece = memorizer_vmemmap[i];
		if (piece < memorizer_ram &&
		    piece != memorizer_vmemmap[0] + (i << PMD_SHIFT))
			return 0;
	}
	return VMEMMAP_START - memorizer_vmemmap[0];
}

int memorizer_map_init(struct memorizer_map **table, unsigned long ram)
{
	unsigned long pfn;

	for (pfn = 0; pfn < ram >> PAGE_SHIFT; pfn++)
		table[pfn] = memorizer_no_map;
	memorizer_pages = table;
	memorizer_ram = ram;
	memorizer_direct_base = PAGE_OFFSET;
	memorizer_image_base = __START_KERNEL_map - phys_base;
	memorizer_vmemmap_base = VMEMMAP_START;
	memorizer_vmemmap_init();
	memorizer_page_base = page_array_distance();
	return 0;
}

void memorizer_map_own(unsigned long phys, unsigned long bytes)
{
	unsigned long pfn;

	for (pfn = phys >> PAGE_SHIFT; pfn < (phys + bytes) >> PAGE_SHIFT; pfn++)
		memorizer_pages[pfn] = &own_map.map;
}

unsigned long memorizer_phys(unsigned long addr)
{
	unsigned long phys = memorizer_direct_phys(addr);

	if (likely(phys < memorizer_ram))
		return phys;
	phys = memorizer_fixed_phys(addr);
	if (likely(phys < memorizer_ram))
		return phys;
	phys = memorizer_mapped_phys(addr);
	return phys < memorizer_ram ? phys : MEMORIZER_NO_PHYS;
}

/* Is @addr backed by the same memory for ever? */
bool memorizer_is_fixed(unsigned long addr)
{
	return memorizer_direct_phys(addr) < memorizer_ram ||
	       memorizer_fixed_phys(addr) < memorizer_ram;
}

static struct memorizer_region_page *to_region_page(struct memorizer_map *map)
{
	return container_of(map, struct memorizer_region_page, map);
}

/*
 * An access at @addr hit no object but this, and so will others until the page
 * is freed. Only for the direct map, where a page of an image is a page, too.
 */
void memorizer_map_miss(unsigned long addr, enum memorizer_miss miss)
{
	unsigned long phys = memorizer_direct_phys(addr);
	struct memorizer_map **entry, *map;

	if (phys >= memorizer_ram || (miss != NO_OBJ_SLAB && miss != NO_OBJ_PAGE))
		return;
	entry = &memorizer_pages[phys >> PAGE_SHIFT];
	map = READ_ONCE(*entry);
	if (map == memorizer_no_map)
		cmpxchg(entry, map, miss == NO_OBJ_SLAB ? &slab_map.map : &page_map.map);
	else if (map->kind == MAP_REGION &&
		 to_region_page(map)->va == (addr & PAGE_MASK))
		WRITE_ONCE(map->miss, miss);
}

/* An entry that says where to look in its region's spans. */
struct memorizer_object *memorizer_resolve(struct memorizer_map *map,
					   unsigned long phys)
{
	struct memorizer_region_page *rp = to_region_page(map);
	struct memorizer_region *region = rp->region;
	unsigned long g = memorizer_index(map, phys);
	unsigned long tag = (unsigned long)READ_ONCE(map->objs[g]);
	unsigned long addr = rp->va + (phys - map->base);
	unsigned long start = rp->va + (g << rp->shift);
	struct memorizer_object *obj;
	struct memorizer_span *span;
	u32 i;

	if ((long)tag <= 0)
		return (void *)tag;
	for (i = tag >> 1; i < region->nr; i++) {
		span = &region->spans[i];
		if (addr < span->va)
			return NULL;
		if (addr - span->va < span->size)
			break;
	}
	if (i == region->nr)
		return NULL;
	obj = READ_ONCE(span->obj);
	if (!obj)
		obj = memorizer_create_boot(region->type, span);
	if (!obj || READ_ONCE(obj->state) != OBJ_LIVE)
		return obj;
	/* The granule is the object's alone: next time without a search. */
	if (start >= span->va &&
	    start + (1UL << rp->shift) <= span->va + span->size)
		cmpxchg(&map->objs[g], (void *)tag, obj);
	return obj;
}

/* The object at @addr or NULL. Not for the hot path. */
struct memorizer_object *memorizer_find(unsigned long addr)
{
	unsigned long phys = memorizer_phys(addr);
	struct memorizer_object *obj;
	struct memorizer_map *map;

	if (phys == MEMORIZER_NO_PHYS)
		return NULL;
	map = READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
	obj = READ_ONCE(map->objs[memorizer_index(map, phys)]);
	return (long)obj > 0 ? memorizer_resolve(map, phys) : obj;
}

void memorizer_map_dispose(struct memorizer_map *map)
{
	unsigned long flags;

	flags = memorizer_lock();
	map->next = limbo;
	limbo = map;
	memorizer_limbo++;
	memorizer_unlock(flags);
	if (memorizer_limbo >= MEMORIZER_LIMBO_MAX)
		memorizer_kick_worker();
}

static void give_back(struct memorizer_map *map)
{
	unsigned long flags;

	if (map->kind == MAP_OBJECT) {
		memorizer_release(container_of(map, struct memorizer_object, map));
		return;
	}
	flags = memorizer_lock();
	if (map->kind == MAP_REGION)
		memorizer_pool_free(to_region_page(map));
	else
		memorizer_pool_free(map);
	memorizer_unlock(flags);
}

/* Empty the limbo. Sleeps; the caller holds memorizer_mutex. */
unsigned int memorizer_map_collect(void)
{
	struct memorizer_map *map, *next;
	unsigned long flags;
	unsigned int n = 0;

	flags = memorizer_lock();
	map = limbo;
	limbo = NULL;
	memorizer_limbo = 0;
	memorizer_unlock(flags);
	if (!map)
		return 0;
	memorizer_quiesce();
	for (; map; map = next, n++) {
		next = map->next;
		give_back(map);
	}
	return n;
}

/* One page of @obj is gone. True if it was the last. */
static bool last_page(struct memorizer_object *obj)
{
	return raw_atomic_dec_and_test((atomic_t *)&obj->map.pages);
}

static void clear_slab(struct memorizer_map *map, unsigned long pfn, unsigned long ip)
{
	struct memorizer_object *obj;
	unsigned long p = map->base >> PAGE_SHIFT;
	int i;

	/* All pages of a slab go at once. */
	while (p < memorizer_ram >> PAGE_SHIFT && memorizer_pages[p] == map)
		memorizer_pages[p++] = memorizer_no_map;
	for (i = 0; i < map->nr; i++) {
		obj = xchg(&map->objs[i], NULL);
		if (obj)
			memorizer_kill(obj, ip);
	}
	memorizer_map_dispose(map);
}

static void clear_region_page(struct memorizer_map *map, unsigned long ip)
{
	struct memorizer_region_page *rp = to_region_page(map);
	struct memorizer_region *region = rp->region;
	struct memorizer_object *obj;
	u32 i;
	int g;

	if (region) {
		for (i = memorizer_first_span(region, rp->va); i < region->nr; i++) {
			if (region->spans[i].va >= rp->va + PAGE_SIZE)
				break;
			memorizer_span_kill(&region->spans[i], ip);
		}
	}
	/* What is left are percpu areas, which were freed before their page. */
	for (g = 0; g < map->nr; g++) {
		obj = xchg(&map->objs[g], NULL);
		if ((long)obj < 0)
			memorizer_kill(obj, ip);
	}
	memorizer_map_dispose(map);
}

/* The page is free, or will be used for something else: end what is there. */
void memorizer_page_clear(unsigned long pfn, unsigned long ip)
{
	struct memorizer_map *map;
	struct memorizer_object *obj;

	map = xchg(&memorizer_pages[pfn], memorizer_no_map);
	switch (map->kind) {
	case MAP_OBJECT:
		obj = container_of(map, struct memorizer_object, map);
		if (last_page(obj))
			memorizer_kill(obj, ip);
		break;
	case MAP_SLAB:
		memorizer_pages[pfn] = map;
		clear_slab(map, pfn, ip);
		break;
	case MAP_REGION:
		clear_region_page(map, ip);
		break;
	default:
		break;
	}
}

/* @old does not describe its page any more, which serves as memory of other objects. */
static void page_was(struct memorizer_map *old)
{
	struct memorizer_object *obj;

	if (old->kind == MAP_REGION)
		memorizer_map_dispose(old);
	if (old->kind != MAP_OBJECT)
		return;
	obj = container_of(old, struct memorizer_object, map);
	if (last_page(obj))
		memorizer_forget(obj);
}

static void page_becomes(unsigned long pfn, struct memorizer_map *map)
{
	page_was(xchg(&memorizer_pages[pfn], map));
}

/*
 * Let @obj cover the pages that are mapped at @va. False if it covers none: they
 * are all in memory that was added after boot.
 */
bool memorizer_map_object(struct memorizer_object *obj, unsigned long va,
			  unsigned long bytes)
{
	unsigned long end = PAGE_ALIGN(va + bytes), phys;
	u32 pages = 0;

	/*
	 * So that it is not freed meanwhile: hold one page more until the end.
	 */
	obj->map.pages = (end - va) / PAGE_SIZE + 1;
	for (; va < end; va += PAGE_SIZE) {
		phys = memorizer_phys(va);
		if (phys == MEMORIZER_NO_PHYS)
			continue;
		page_becomes(phys >> PAGE_SHIFT, &obj->map);
		pages++;
	}
	raw_atomic_sub(obj->map.pages - pages, (atomic_t *)&obj->map.pages);
	return pages;
}

/* The map of the slab that @p lies in, made when first needed; NULL: no memory. */
struct memorizer_map *memorizer_slab_map(struct kmem_cache *s, void *p)
{
	unsigned long phys = memorizer_phys((unsigned long)p);
	struct memorizer_map *map, *old;
	unsigned long pfn, i;
	struct slab *slab;
	u32 nr;

	if (phys == MEMORIZER_NO_PHYS)
		return NULL;
	old = READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
	if (likely(old->kind == MAP_SLAB))
		return old;
	slab = virt_to_slab(p);
	if (!slab)
		return NULL;
	/* What is left over at the end gets an entry, too. */
	nr = slab_size(slab) / s->size + 1;
	map = memorizer_pool_alloc(struct_size(map, objs, nr));
	if (!map)
		return NULL;
	map->kind = MAP_SLAB;
	map->miss = NO_OBJ_SLAB;
	map->nr = nr;
	map->base = memorizer_phys((unsigned long)slab_address(slab));
	map->recip = DIV_ROUND_UP(1ULL << 32, s->size);
	pfn = map->base >> PAGE_SHIFT;
	/* Another CPU may do the same: the first page decides. */
	for (;;) {
		old = READ_ONCE(memorizer_pages[pfn]);
		if (old->kind == MAP_SLAB) {
			memorizer_map_dispose(map);
			return old;
		}
		if (cmpxchg(&memorizer_pages[pfn], old, map) == old)
			break;
	}
	if (old->kind == MAP_OBJECT &&
	    last_page(container_of(old, struct memorizer_object, map)))
		memorizer_forget(container_of(old, struct memorizer_object, map));
	for (i = 1; i < slab_size(slab) >> PAGE_SHIFT; i++)
		page_becomes(pfn + i, map);
	return map;
}

static bool is_region_page(struct memorizer_map *map, u32 shift)
{
	return map->kind == MAP_REGION && to_region_page(map)->shift <= shift;
}

/* The region page at @phys, made if the page is not one yet; NULL: no memory. */
struct memorizer_region_page *
memorizer_region_page(unsigned long phys, unsigned long va, u32 shift,
		      struct memorizer_region *region)
{
	unsigned long pfn = phys >> PAGE_SHIFT;
	u32 nr = PAGE_SIZE >> shift;
	struct memorizer_region_page *rp;
	struct memorizer_map *map;

	map = READ_ONCE(memorizer_pages[pfn]);
	if (is_region_page(map, shift))
		return to_region_page(map);
	rp = memorizer_pool_alloc(struct_size(rp, map.objs, nr));
	if (!rp)
		return NULL;
	rp->region = region;
	rp->va = va & PAGE_MASK;
	rp->shift = shift;
	rp->map.kind = MAP_REGION;
	rp->map.nr = nr;
	rp->map.base = phys & PAGE_MASK;
	rp->map.recip = 1UL << (32 - shift);
	/* Another CPU may do the same, and have objects there already. */
	while (cmpxchg(&memorizer_pages[pfn], map, &rp->map) != map) {
		map = READ_ONCE(memorizer_pages[pfn]);
		if (is_region_page(map, shift)) {
			memorizer_map_dispose(&rp->map);
			return to_region_page(map);
		}
	}
	page_was(map);
	return rp;
}
