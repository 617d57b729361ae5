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
#include <linux/uaccess.h>

#include "access.h"
#include "memorizer.h"

/* Sites of the running task will be needed again: enter them at once. */
static void carry_over(struct memorizer_sites *new, const struct memorizer_sites *old,
		       u64 key)
{
	u32 i, slot;

	for (i = 0; i <= old->mask; i++) {
		u64 k = READ_ONCE(old->site[i].key);

		if ((k ^ key) >> 32 || !k)
			continue;
		slot = memorizer_hash(k);
		while (new->site[slot & new->mask].key)
			slot++;
		new->site[slot & new->mask].key = k;
		new->used++;
	}
}

static struct memorizer_sites *grow(struct memorizer_object *obj,
				    struct memorizer_sites *old, u64 key)
{
	u32 nr = min_t(u32, (old->mask + 1) * 2, MEMORIZER_MAX_SITES);
	struct memorizer_sites *new;
	unsigned long flags;

	new = memorizer_pool_alloc(struct_size(new, site, nr));
	if (!new)
		return NULL;
	new->mask = nr - 1;
	new->prev = old;
	if (nr > old->mask + 1)
		carry_over(new, old, key);
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

/* Full enough to replace: the small one when it is full, others at one half. */
static bool crowded(const struct memorizer_sites *sites)
{
	u32 nr = sites->mask + 1;

	return READ_ONCE(sites->used) >= (nr > MEMORIZER_INLINE_SITES ? nr / 2 : nr);
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
			sites = grow(obj, sites, key);
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

static void count(struct memorizer_object *obj, u64 key, int write)
{
	struct memorizer_site *site = memorizer_site(obj, key);

	if (likely(site))
		memorizer_inc(&site->count[write]);
	else
		memorizer_miss(ACCESS_MEMORY);
}

/* The site is not in its first slot: look on, or make it. */
static __always_inline void look_on(struct memorizer_object *obj, u64 key, int write)
{
	struct memorizer_sites *sites = READ_ONCE(obj->sites);
	u32 mask = sites->mask, slot = memorizer_hash(key), n = mask;

	if (unlikely((s64)key < 0))
		return;				/* MEMORIZER_HIDDEN */
	this_cpu_inc(memorizer_cpu.seen);
	do {
		struct memorizer_site *site = &sites->site[slot++ & mask];
		u64 found = READ_ONCE(site->key);

		if (!found) {
			if (crowded(sites) || !try_cmpxchg(&site->key, &found, key))
				break;
			raw_atomic_inc((atomic_t *)&sites->used);
			found = key;
		}
		if (found == key) {
			memorizer_inc(&site->count[write]);
			return;
		}
	} while (n--);
	count(obj, key, write);
}

/* What was hit when no object was. */
static enum memorizer_miss no_object(unsigned long addr, unsigned long phys)
{
	struct memorizer_map *map;
	struct page *page;

	if (memorizer_is_user_address(addr))
		return NO_OBJ_USER;
	if (memorizer_is_page_struct(addr))
		return NO_OBJ_PAGE_STRUCT;
	if (phys == MEMORIZER_NO_PHYS)
		return NO_OBJ_OTHER;
	if (addr >= (unsigned long)_text && addr < (unsigned long)_end)
		return NO_OBJ_IMAGE;
	map = memorizer_pages[phys >> PAGE_SHIFT];
	if (map->kind == MAP_SLAB)
		return NO_OBJ_SLAB;
	if (!pfn_valid(phys >> PAGE_SHIFT))
		return NO_OBJ_OTHER;
	page = pfn_to_page(phys >> PAGE_SHIFT);
	return folio_test_slab(page_folio(page)) ? NO_OBJ_SLAB : NO_OBJ_PAGE;
}

/* Who is it? False if it is nobody we count. */
static bool get_tag(u64 *tag)
{
	unsigned int pc = preempt_count();

	if (likely(!(pc & MEMORIZER_IRQ_BITS))) {
		*tag = current->memorizer.tag;
	} else if (unlikely(pc & NMI_MASK)) {
		this_cpu_inc(memorizer_cpu.seen);
		memorizer_miss(ACCESS_NMI);
		return false;
	} else {
		if (static_branch_unlikely(&memorizer_marked_key) && memorizer_mode != 2)
			return false;
		*tag = raw_cpu_read(memorizer_cpu.irq_tag);
	}
	return !(*tag & MEMORIZER_HIDDEN);
}

/* Interrupts, regions, and what is not mapped in the usual places. */
static __always_inline void look_closely(unsigned long addr, unsigned long ip, int write)
{
	struct memorizer_object *obj = NULL;
	unsigned long phys;
	u64 tag;

	if (unlikely(!get_tag(&tag)))
		return;
	phys = memorizer_phys(addr);
	if (likely(phys < memorizer_ram)) {
		obj = memorizer_at(phys);
		if ((long)obj > 0)
			obj = memorizer_resolve(memorizer_pages[phys >> PAGE_SHIFT], phys);
	}
	if (likely(obj)) {
		look_on(obj, tag | memorizer_pack_ip(ip), write);
		return;
	}
	this_cpu_inc(memorizer_cpu.seen);
	this_cpu_inc(memorizer_cpu.miss[no_object(addr, phys)]);
}

/*
 * The second half of an access. It may come while user memory is open, which
 * objtool knows; and it ends with switching preemption on.
 */
void memorizer_access_slow(unsigned long addr, unsigned long ip, int write)
{
	unsigned long ua = user_access_save();

	look_closely(addr, ip, write);
	user_access_restore(ua);
	preempt_enable_no_resched_notrace();
}

void memorizer_access_probe(struct memorizer_object *obj, u64 key, int write)
{
	unsigned long ua = user_access_save();

	look_on(obj, key, write);
	user_access_restore(ua);
	preempt_enable_no_resched_notrace();
}
