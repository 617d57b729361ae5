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
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "access.h"
#include "memorizer.h"

DEFINE_PER_CPU(struct memorizer_recent [MEMORIZER_RECENT], memorizer_recents);

/*
 * How large an object's first table should be, by its cache or type: objects
 * of a kind have about as many sites. Logarithms; only a guess, so races
 * do not matter.
 */
static u8 sizes[256];

static u8 *size_of_kind(const struct memorizer_object *obj)
{
	return &sizes[(obj->cache ?: -obj->type) & 255];
}

static void learn_size(const struct memorizer_object *obj, u32 used)
{
	u8 *size = size_of_kind(obj);
	u8 log = fls(used + used / 4);

	if (log != *size)
		*size += log > *size ? 1 : -1;
}

/* Returns how many sites there are. */
static u32 close_sites(struct memorizer_object *obj)
{
	struct memorizer_sites *sites;
	struct memorizer_site *site, *end;
	u32 used = 0;

	for (sites = READ_ONCE(obj->sites); sites; sites = sites->prev) {
		end = &sites->site[memorizer_nr_sites(sites)];
		for (site = sites->site; site < end; site++) {
			u64 key = READ_ONCE(site->key);

			if (!key)
				continue;
			WRITE_ONCE(site->key, key | MEMORIZER_CLOSED);
			used++;
		}
	}
	return used;
}

/*
 * From now on nothing recent leads to @obj: it ends, or a part of it does.
 * Whoever has found it through the map may still count on it. Two may do this
 * at the same time, and each must have done it all when it returns.
 */
void memorizer_close(struct memorizer_object *obj)
{
	if (READ_ONCE(obj->closed) == 2)
		return;
	WRITE_ONCE(obj->closed, 1);
	/* Pairs with the cmpxchg that enters a key: it looks at obj->closed. */
	smp_mb();
	learn_size(obj, close_sites(obj));
	smp_store_release(&obj->closed, 2);
}

/* Only the CPU itself writes more than the address: no entry is ever torn. */
void memorizer_forget_recent(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct memorizer_recent *recent = per_cpu(memorizer_recents, cpu);

		for (i = 0; i < MEMORIZER_RECENT; i++)
			WRITE_ONCE(recent[i].addr, MEMORIZER_NOWHERE);
	}
}

/*
 * What is closed and in no map can be given back when this returns: nobody
 * holds it, and nothing recent points to it. Sleeps.
 */
void memorizer_quiesce(void)
{
	/* After the keys were closed: pairs with remember(). */
	smp_mb();
	memorizer_forget_recent();
	synchronize_rcu();
}

/* The next access from here to @addr by this task will find @site at once. */
static __always_inline void remember(unsigned long addr, struct memorizer_site *site,
				     u64 key, unsigned long at)
{
	raw_cpu_write(memorizer_recent(at)->site, site);
	raw_cpu_write(memorizer_recent(at)->addr, addr);
	/* Not closed before: pairs with memorizer_quiesce(). */
	smp_mb();
	if (unlikely(site->key != key))
		raw_cpu_write(memorizer_recent(at)->addr, MEMORIZER_NOWHERE);
}

static struct memorizer_sites *new_table(u32 nr)
{
	struct memorizer_sites *new;

	new = memorizer_pool_alloc(memorizer_sites_size(nr - 1 + MEMORIZER_REACH));
	if (!new)
		return NULL;
	new->mask = nr - 1;
	new->reach = MEMORIZER_REACH;
	return new;
}

/*
 * Put a larger table in front. What is in the old one stays there, and is
 * entered again if it is not a recent one. Twice as large, so that there are
 * few: a reader looks for each key in all of them.
 */
static bool grow(struct memorizer_object *obj, struct memorizer_sites *old)
{
	struct memorizer_sites *new;
	unsigned long flags;
	u32 nr;

	if (old == &obj->first)
		nr = clamp(1U << *size_of_kind(obj), MEMORIZER_MIN_SITES,
			   MEMORIZER_MAX_FIRST);
	else
		nr = min((old->mask + 1) * 2, MEMORIZER_MAX_SITES);
	new = new_table(nr);
	if (!new && nr > MEMORIZER_MAX_PIECE)
		new = new_table(MEMORIZER_MAX_PIECE);
	if (!new)
		return false;
	new->prev = old;
	/* Pairs with the address dependency of the readers of obj->sites. */
	if (cmpxchg(&obj->sites, old, new) == old)
		return true;
	flags = memorizer_lock();
	memorizer_pool_free(new);
	memorizer_unlock(flags);
	return true;
}

/* Enter @key in an unused slot. False: @found is what another CPU entered. */
static __always_inline bool claim(struct memorizer_object *obj,
				  struct memorizer_site *site, u64 key, u64 *found)
{
	if (unlikely(!try_cmpxchg(&site->key, found, key)))
		return false;
	if (unlikely(obj->closed))
		WRITE_ONCE(site->key, key | MEMORIZER_CLOSED);
	return true;
}

/*
 * The counter for @key in the newest table, @in, entered if it is not there;
 * NULL if there is no room. Calls nothing: user memory may be open.
 */
static __always_inline struct memorizer_site *
find_site(struct memorizer_object *obj, u64 key, struct memorizer_sites **in)
{
	struct memorizer_sites *sites = *in = READ_ONCE(obj->sites);
	struct memorizer_site *site = &sites->site[memorizer_first_slot(sites, key)];
	struct memorizer_site *end;
	u64 found = READ_ONCE(site->key);

	if (likely(found == key || (!found && claim(obj, site, key, &found))))
		return site;
	for (end = site + sites->reach;;) {
		if (memorizer_same_key(found, key))
			return site;
		if (++site == end)
			return NULL;
		found = READ_ONCE(site->key);
		if (!found && claim(obj, site, key, &found))
			return site;
	}
}

/*
 * The counter for @key. Without memory for a new one the count goes to the
 * same code address under pid -1 if that fits, else there is none: NULL.
 */
struct memorizer_site *memorizer_site(struct memorizer_object *obj, u64 key,
				      struct memorizer_sites **in)
{
	struct memorizer_site *site;

	do {
		site = find_site(obj, key, in);
		if (site)
			return site;
	} while (grow(obj, *in));
	memorizer_kick_worker();
	site = find_site(obj, key | MEMORIZER_PID_FOLDED, in);
	if (site)
		this_cpu_inc(memorizer_cpu.folded);
	return site;
}

/*
 * Note where the access falls. What is recent needs no note: it was made when
 * its address was entered, on the same site.
 */
static __always_inline void note_range(const struct memorizer_object *obj,
				       const struct memorizer_sites *sites,
				       const struct memorizer_site *site,
				       unsigned long addr, unsigned long how)
{
	memorizer_range_t *range, old, new;
	unsigned long first, last;

	if (likely(!memorizer_print_fields))
		return;
	range = memorizer_range(sites, site);
	old = READ_ONCE(*range);
	first = addr - obj->va;
	first = min_t(unsigned long, first, MEMORIZER_FAR);
	last = min_t(unsigned long, first + (how >> MEMORIZER_MORE_SHIFT), MEMORIZER_FAR);
	do {
		new = memorizer_range_add(old, last << 16 | (MEMORIZER_FAR - first));
		if (likely(new == old))
			return;
	} while (!try_cmpxchg(range, &old, new));
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

static __always_inline void missed(enum memorizer_miss miss, unsigned long how)
{
	this_cpu_add(memorizer_cpu.seen, memorizer_events(how));
	this_cpu_add(memorizer_cpu.miss[miss], memorizer_events(how));
}

/* Who is it? False if it is nobody we count. */
static bool get_tag(u64 *tag, unsigned long how)
{
	unsigned int pc = preempt_count();

	if (likely(!(pc & MEMORIZER_IRQ_BITS))) {
		*tag = current->memorizer.tag;
	} else if (unlikely(pc & NMI_MASK)) {
		missed(ACCESS_NMI, how);
		return false;
	} else {
		if (static_branch_unlikely(&memorizer_marked_key) && memorizer_mode != 2)
			return false;
		*tag = raw_cpu_read(memorizer_cpu.irq_tag);
	}
	return !(*tag & MEMORIZER_HIDDEN);
}

/* A mark may be taken away, and a pid be used again without one: no memory then. */
static __always_inline bool may_remember(void)
{
	return !static_branch_unlikely(&memorizer_marked_key);
}

/* Another mapping of the same memory may go before the object does. */
static bool stays_there(const struct memorizer_object *obj, unsigned long addr)
{
	return addr - obj->va < obj->size || memorizer_is_fixed(addr);
}

/* Interrupts, regions, new tables, and what is not mapped in the usual places. */
static __always_inline void look_closely(unsigned long addr, unsigned long ip, unsigned long how)
{
	struct memorizer_object *obj = NULL;
	struct memorizer_sites *sites;
	struct memorizer_site *site;
	enum memorizer_miss miss;
	unsigned long phys;
	u64 key;

	if (unlikely(!get_tag(&key, how)))
		return;
	key = memorizer_key(key, ip);
	phys = memorizer_phys(addr);
	if (likely(phys < memorizer_ram)) {
		obj = memorizer_at(phys);
		if ((long)obj > 0)
			obj = memorizer_resolve(memorizer_pages[phys >> PAGE_SHIFT], phys);
	}
	if (unlikely(!obj)) {
		miss = no_object(addr, phys);
		memorizer_map_miss(addr, miss);
		missed(miss, how);
		return;
	}
	site = memorizer_site(obj, key, &sites);
	if (unlikely(!site)) {
		missed(ACCESS_MEMORY, how);
		return;
	}
	memorizer_count(site, how);
	note_range(obj, sites, site, addr, how);
	if (!memorizer_in_irq() && may_remember() && stays_there(obj, addr))
		remember(addr, site, key, memorizer_recent_at(addr, ip));
}

/*
 * Memory in its usual place, and a site that is known or for which there is
 * room. False if it is something else. Calls nothing.
 */
static __always_inline bool look(unsigned long addr, u64 key, unsigned long how,
				 bool recent, unsigned long at)
{
	struct memorizer_object *obj;
	struct memorizer_sites *sites;
	struct memorizer_site *site;
	struct memorizer_map *map;
	unsigned long phys;

	phys = memorizer_direct_phys(addr);
	if (unlikely(phys >= memorizer_ram)) {
		phys = memorizer_fixed_phys(addr);
		if (unlikely(phys >= memorizer_ram_end))
			return false;
	}
	map = memorizer_pages[phys >> PAGE_SHIFT];
	obj = map->objs[memorizer_index(map, phys)];
	if (unlikely((long)obj >= 0)) {
		if (obj || !map->miss)
			return false;
		missed(map->miss, how);
		return true;
	}
	site = find_site(obj, key, &sites);
	if (unlikely(!site))
		return false;
	memorizer_count(site, how);
	note_range(obj, sites, site, addr, how);
	if (recent)
		remember(addr, site, key, at);
	return true;
}

/* The same for an interrupt, unless there is something special about it. */
static __always_inline bool look_in_irq(unsigned long addr, unsigned long ip,
					unsigned long how)
{
	u64 key = memorizer_key(raw_cpu_read(memorizer_cpu.irq_tag), ip);

	return likely((s64)key >= 0 && may_remember() &&
		      !memorizer_test_preempt_count(NMI_MASK)) &&
	       look(addr, key, how, false, 0);
}

/*
 * The same for a task's range: that one as long was touched here before does
 * not follow from what is recent. Who is not marked is not looked at.
 */
static __always_inline bool look_at_range(unsigned long addr, unsigned long ip,
					  unsigned long how)
{
	u64 key = memorizer_key(current->memorizer.tag, ip);

	if ((s64)key < 0 || (!may_remember() && !memorizer_task_marked(current)))
		return true;
	return look(addr, key, how, false, 0);
}

/*
 * The second half of an access. It may come while user memory is open, which
 * objtool knows; and it ends with switching preemption on.
 */
void memorizer_access_slow(unsigned long addr, unsigned long ip, unsigned long how)
{
	unsigned long ua;

	if (memorizer_in_irq() ? look_in_irq(addr, ip, how) :
	    how & MEMORIZER_RANGE && look_at_range(addr, ip, how)) {
		memorizer_access_end();
		return;
	}
	ua = user_access_save();
	look_closely(addr, ip, how);
	user_access_restore(ua);
	memorizer_access_end();
}

/* A task's access that is not a recent one. */
void memorizer_access_probe(unsigned long addr, u64 key, unsigned long how,
			    unsigned long at)
{
	bool done;

	if (unlikely((s64)key < 0))
		done = true;			/* MEMORIZER_HIDDEN */
	else if (may_remember())
		done = look(addr, key, how, true, at);
	else
		done = !memorizer_task_marked(current) ||
		       look(addr, key, how, false, at);
	if (unlikely(!done))
		return memorizer_access_slow(addr, memorizer_key_ip(key), how);
	memorizer_access_end();
}

#ifdef CONFIG_MEMORIZER_PLUGIN

/* What follows the call that reports accesses: a nop that ends in offsets. */
struct offsets {
	u8 nop[4];
	s16 first;
	s16 second;		/* or how many bytes more of a single access, unsigned */
};

/*
 * Note where both accesses of a pair fall: the first offset as in any range, the
 * second in the upper half. There is no room for more, so that a pair has only
 * one offset each; false if these are others.
 */
static __always_inline bool note_pair(const struct memorizer_object *obj,
				      const struct memorizer_sites *sites,
				      const struct memorizer_site *site,
				      unsigned long addr, long distance)
{
	unsigned long first = addr - obj->va, second = first + distance;
	memorizer_range_t *range, new, old;

	if (likely(!memorizer_print_fields))
		return true;
	if (first >= MEMORIZER_FAR || second > MEMORIZER_FAR)
		return false;
	range = memorizer_range(sites, site);
	new = second << 16 | (MEMORIZER_FAR - first);
	old = READ_ONCE(*range);
	return old == new || (!old && (try_cmpxchg(range, &old, new) || old == new));
}

/* Both accesses of a pair are counted at @obj; false: it is full, or see above. */
static __always_inline bool count_pair(struct memorizer_object *obj, unsigned long addr,
				       u64 key, long distance, bool recent, unsigned long at)
{
	struct memorizer_sites *sites;
	struct memorizer_site *site = find_site(obj, key, &sites);

	if (unlikely(!site || !note_pair(obj, sites, site, addr, distance)))
		return false;
	memorizer_count(site, MEMORIZER_READ_WRITE);
	if (recent)
		remember(addr, site, key, at);
	return true;
}

/* look() for a pair. False: look at one after the other. */
static __always_inline bool look_at_pair(unsigned long addr, u64 key, long distance,
					 bool recent, unsigned long at)
{
	struct memorizer_object *obj;
	struct memorizer_map *map;
	unsigned long phys;

	phys = memorizer_direct_phys(addr);
	if (unlikely(phys >= memorizer_ram)) {
		phys = memorizer_fixed_phys(addr);
		if (unlikely(phys >= memorizer_ram_end))
			return false;
	}
	map = memorizer_pages[phys >> PAGE_SHIFT];
	obj = map->objs[memorizer_index(map, phys)];
	if (likely((long)obj < 0))
		return count_pair(obj, addr, key, distance, recent, at);
	if (obj || !map->miss)
		return false;
	missed(map->miss, MEMORIZER_READ_WRITE);
	return true;
}

/* The same with a search for the object, and a larger table if there is no room. */
static bool look_closely_at_pair(unsigned long addr, u64 key, long distance)
{
	unsigned long phys = memorizer_phys(addr);
	struct memorizer_object *obj = NULL;
	struct memorizer_sites *sites;

	if (phys < memorizer_ram) {
		obj = memorizer_at(phys);
		if ((long)obj > 0)
			obj = memorizer_resolve(memorizer_pages[phys >> PAGE_SHIFT], phys);
	}
	if (!obj)
		return false;
	while (!find_site(obj, key, &sites))
		if (!grow(obj, sites))
			return false;
	return count_pair(obj, addr, key, distance, false, 0);
}

/* Two accesses of the same object, at @ip and at the byte after it. */
static void touched_pair(unsigned long addr, unsigned long ip, u64 pair, long distance)
{
	bool irq = memorizer_in_irq(), all = may_remember(), done = false;
	unsigned long at = memorizer_recent_at(addr, ip);
	u64 tag = irq ? raw_cpu_read(memorizer_cpu.irq_tag) : current->memorizer.tag;
	u64 key = memorizer_key(tag, ip) + pair;
	unsigned long ua;

	if ((s64)tag < 0 || (!all && !irq && !memorizer_task_marked(current))) {
		done = true;
	} else if (likely((all || !irq) && !memorizer_test_preempt_count(NMI_MASK))) {
		done = look_at_pair(addr, key, distance, all && !irq, at);
		if (unlikely(!done)) {
			ua = user_access_save();
			done = look_closely_at_pair(addr, key, distance);
			user_access_restore(ua);
		}
	}
	if (likely(done)) {
		memorizer_access_end();
		return;
	}
	memorizer_access_slow(addr, ip, memorizer_pair_writes(pair, 0));
	preempt_disable_notrace();
	memorizer_access_slow(addr + distance, ip + 1, memorizer_pair_writes(pair, 1));
}

/*
 * The plugin's report of one access or a pair, if it is not a recent one.
 * Preemption is off, and on again at the end. @how: MEMORIZER_READ, ... or one
 * of MEMORIZER_PAIR.
 */
void memorizer_touched(unsigned long base, unsigned long ip, u64 how)
{
	const struct offsets *offsets = (void *)ip;
	unsigned long addr = base + offsets->first;

	/* Code is patched before counting begins, and after it ends. */
	if (unlikely(!memorizer_counting)) {
		memorizer_access_end();
		return;
	}
	if (how & MEMORIZER_PAIR)
		return touched_pair(addr, ip, how, offsets->second - offsets->first);
	if (unlikely(offsets->second && memorizer_print_fields))
		return memorizer_access_slow(addr, ip, how | MEMORIZER_RANGE |
					     (unsigned long)(u16)offsets->second << MEMORIZER_MORE_SHIFT);
	if (unlikely(memorizer_in_irq()))
		return memorizer_access_slow(addr, ip, how);
	memorizer_access_probe(addr, memorizer_key(current->memorizer.tag, ip), how,
			       memorizer_recent_at(addr, ip));
}

#endif /* CONFIG_MEMORIZER_PLUGIN */
