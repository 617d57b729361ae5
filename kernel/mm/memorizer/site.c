// SPDX-License-Identifier: GPL-2.0
/*
 * Access sites: find or make the counter of (object, code address, pid), and
 * everything about an access that is not the common case.
 *
 * No locks: an unused slot is claimed with cmpxchg, a table is replaced with
 * cmpxchg, counters are incremented atomically. An interrupt or another CPU
 * may do the same at the same moment.
 */
#include <linux/atomic.h>
#include <linux/mm.h>

#include "access.h"
#include "memorizer.h"

static struct memorizer_sites *grow(struct memorizer_object *obj,
				    struct memorizer_sites *old)
{
	u32 nr = min_t(u32, (old->mask + 1) * 4, MEMORIZER_MAX_SITES);
	struct memorizer_sites *new;
	unsigned long flags;

	new = memorizer_pool_alloc(struct_size(new, site, nr));
	if (!new)
		return NULL;
	new->mask = nr - 1;
	new->prev = old;
	/* Pairs with the address dependency of whoever loads obj->sites. */
	if (try_cmpxchg_release(&obj->sites, &old, new))
		return new;
	flags = memorizer_lock();
	memorizer_pool_free(new);
	memorizer_unlock(flags);
	return READ_ONCE(obj->sites);
}

/* The slot of @key, or the first unused one; NULL if neither is there. */
static struct memorizer_site *probe(struct memorizer_sites *sites, u64 key)
{
	u32 i, slot = memorizer_hash(key);

	for (i = 0; i <= sites->mask; i++) {
		struct memorizer_site *site = &sites->site[(slot + i) & sites->mask];
		u64 found = READ_ONCE(site->key);

		if (found == key || !found)
			return site;
	}
	return NULL;
}

/* Full enough to replace: the small one when it is full, others at 3/4. */
static bool crowded(const struct memorizer_sites *sites)
{
	u32 nr = sites->mask + 1;

	return READ_ONCE(sites->used) >= (nr > MEMORIZER_INLINE_SITES ? nr / 4 * 3 : nr);
}

static struct memorizer_site *find_or_claim(struct memorizer_object *obj, u64 key,
					    bool may_grow)
{
	struct memorizer_sites *sites = READ_ONCE(obj->sites);
	struct memorizer_site *site;
	u64 old;

	for (;;) {
		site = probe(sites, key);
		if (site && READ_ONCE(site->key) == key)
			return site;
		if (may_grow && (!site || crowded(sites))) {
			sites = grow(obj, sites);
			if (!sites)
				return NULL;
			continue;
		}
		if (!site)
			return NULL;
		old = 0;
		if (try_cmpxchg(&site->key, &old, key)) {
			raw_atomic_inc((atomic_t *)&sites->used);
			return site;
		}
		if (old == key)
			return site;
	}
}

/*
 * The counter for @key. Without memory for a new one the count goes to the
 * same code address under pid -1 if that fits, else there is none: NULL.
 */
struct memorizer_site *memorizer_site(struct memorizer_object *obj, u64 key)
{
	struct memorizer_site *site = find_or_claim(obj, key, true);

	if (site)
		return site;
	memorizer_kick();
	site = find_or_claim(obj, key | MEMORIZER_PID_FOLDED, false);
	if (site)
		this_cpu_inc(memorizer_cpu.folded);
	return site;
}

/* What was hit when no object was. */
static enum memorizer_miss no_object(unsigned long addr, unsigned long phys,
				     struct memorizer_map *map)
{
	struct page *page;

	if (memorizer_is_user_address(addr))
		return NO_OBJ_USER;
	if (memorizer_is_page_struct(addr))
		return NO_OBJ_PAGE_STRUCT;
	if (phys == MEMORIZER_NO_PHYS || !map)
		return NO_OBJ_OTHER;
	if (addr >= (unsigned long)_text && addr < (unsigned long)_end)
		return NO_OBJ_IMAGE;
	if (map->kind == MAP_SLAB)
		return NO_OBJ_SLAB;
	if (!pfn_valid(phys >> PAGE_SHIFT))
		return NO_OBJ_OTHER;
	page = pfn_to_page(phys >> PAGE_SHIFT);
	return folio_test_slab(page_folio(page)) ? NO_OBJ_SLAB : NO_OBJ_PAGE;
}

static void count(unsigned long addr, u64 key, int write)
{
	struct memorizer_object *obj = NULL;
	struct memorizer_map *map = NULL;
	struct memorizer_site *site;
	unsigned long phys;

	this_cpu_inc(memorizer_cpu.seen);
	phys = memorizer_phys(addr);
	if (phys < memorizer_ram) {
		map = READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
		obj = READ_ONCE(map->objs[memorizer_index(map, phys)]);
		if (unlikely((long)obj > 0))
			obj = memorizer_resolve(map, phys);
	}
	if (!obj) {
		this_cpu_inc(memorizer_cpu.miss[no_object(addr, phys, map)]);
		return;
	}
	site = memorizer_site(obj, key);
	if (site)
		memorizer_inc(&site->count[write]);
	else
		memorizer_miss(ACCESS_MEMORY);
}

/* Everything but a known site of a tracked object touched by a task. */
void memorizer_access_slow(unsigned long addr, unsigned long ip, int write)
{
	unsigned int pc = preempt_count();
	u64 tag;

	if (unlikely(pc & MEMORIZER_IRQ_BITS)) {
		if (unlikely(pc & NMI_MASK)) {
			this_cpu_inc(memorizer_cpu.seen);
			memorizer_miss(ACCESS_NMI);
			return;
		}
		tag = raw_cpu_read(memorizer_cpu.irq_tag);
		if (static_branch_unlikely(&memorizer_marked_key) && memorizer_mode != 2)
			return;
	} else {
		tag = current->memorizer.tag;
	}
	if (unlikely(tag & MEMORIZER_HIDDEN))
		return;
	count(addr, tag | memorizer_pack_ip(ip), write);
}
