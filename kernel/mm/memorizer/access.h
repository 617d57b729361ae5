/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common case of an access: find the object, count. Each instruction here
 * is paid at each access of the kernel; entry.S is the same by hand.
 */
#ifndef _MM_MEMORIZER_ACCESS_H
#define _MM_MEMORIZER_ACCESS_H

#include "memorizer.h"

/*
 * Of a key: where its search begins in a table, in bytes; see the mask. The bits
 * that are taken depend on the code address, all of it, and on the process.
 */
#define MEMORIZER_HASH_FACTOR	0x61c88647
#define MEMORIZER_HASH_SHIFT	28

static_assert(MEMORIZER_MAX_SITES *
	      (sizeof(struct memorizer_site) + sizeof(struct memorizer_extents)) <=
	      1UL << (64 - MEMORIZER_HASH_SHIFT));

static __always_inline struct memorizer_site *
memorizer_first_slot(struct memorizer_sites *table, u64 key)
{
	return (void *)table->site +
	       ((key * MEMORIZER_HASH_FACTOR >> MEMORIZER_HASH_SHIFT) & table->mask);
}

static __always_inline void memorizer_inc(u64 *count)
{
	raw_atomic64_inc((atomic64_t *)count);
}

/* The object at @phys, a positive number in regions, or NULL. */
static __always_inline struct memorizer_object *memorizer_at(unsigned long phys)
{
	struct memorizer_map *map = memorizer_pages[phys >> PAGE_SHIFT];

	return map->objs[memorizer_index(map, phys)];
}

/*
 * What is counted of an access: the key, and where ranges are noted, the extent.
 * @ranges is known to the compiler wherever it counts.
 */
struct memorizer_count {
	u64 key;
	u64 extent;
	bool ranges;
};

/* Enter one access into a log; false if it is full, or one of the other kind. */
static __always_inline bool memorizer_enter(struct memorizer_sites *log,
					    struct memorizer_count c)
{
	s64 left;

	if (!c.ranges) {
		left = raw_atomic64_fetch_dec((atomic64_t *)&log->room);
		if (unlikely(left <= 0))
			return false;
		WRITE_ONCE(log->entry[left - 1], c.key);
		return true;
	}
	left = raw_atomic64_fetch_sub(2, (atomic64_t *)&log->range_room);
	if (unlikely(left <= 0))
		return false;
	WRITE_ONCE(log->entry[left - 1], c.extent);
	/* Pairs with add_log(), which reads the key first. */
	smp_wmb();
	WRITE_ONCE(log->entry[left - 2], c.key);
	return true;
}

/*
 * The slot of @key in a table of slots of @size bytes, from @site on, entered if it
 * is not there; NULL: no room.
 */
static __always_inline struct memorizer_site *
memorizer_find_site(struct memorizer_site *site, u32 size, u64 key)
{
	struct memorizer_site *end = (void *)site + MEMORIZER_REACH * size;
	u64 found;

	do {
		found = READ_ONCE(site->key);
		if (found == key)
			return site;
		if (!found) {
			found = cmpxchg(&site->key, 0, key);
			if (!found || found == key)
				return site;
		}
		site = (void *)site + size;
	} while (site < end);
	return NULL;
}

/* The last byte of an extent; of a pair that of its first access. */
static __always_inline u64 memorizer_extent_end(u64 extent, u64 key)
{
	return (extent >> 16) + (key & MEMORIZER_PAIR ? 0 : (u16)extent);
}

/*
 * All accesses that the plugin reports with one key have the same size, so that
 * entry.S can compare extents as numbers. With other keys, sizes vary.
 */
static __always_inline void memorizer_note(struct memorizer_extents *noted,
					   struct memorizer_count c)
{
	u64 end = memorizer_extent_end(c.extent, c.key), old = READ_ONCE(noted->lowest);

	while (!old || c.extent >> 16 < old >> 16)
		if (try_cmpxchg(&noted->lowest, &old, c.extent))
			break;
	old = READ_ONCE(noted->highest);
	while (!old || end > memorizer_extent_end(old, c.key))
		if (try_cmpxchg(&noted->highest, &old, c.extent))
			break;
}

/* Count in the newest log or table, if there is room. Calls nothing. */
static __always_inline bool memorizer_try_count(struct memorizer_object *obj,
						struct memorizer_count c)
{
	struct memorizer_sites *sites = READ_ONCE(obj->sites);
	struct memorizer_site *site;

	if (c.ranges ? !sites->ranges : memorizer_is_log(sites))
		return memorizer_enter(sites, c);
	site = memorizer_first_slot(sites, c.key);
	if (unlikely(READ_ONCE(site->key) != c.key)) {
		site = memorizer_find_site(site, memorizer_slot_size(sites->ranges), c.key);
		if (unlikely(!site))
			return false;
	}
	memorizer_inc(&site->count);
	if (c.ranges)
		memorizer_note(memorizer_extents(site), c);
	return true;
}

/*
 * The end of an access is no preemption point. It must not be one: the compiler
 * reports accesses while user memory is open (a switch of tasks does not keep
 * that flag) and inside of the scheduler, and a call here would cost every
 * access its saved registers. Nothing is lost by it: an interrupt that wants a
 * switch while an access is counted has set the flag in preempt_count, and the
 * next preempt_enable(), end of an interrupt or return to user space obeys it.
 * The switch is delayed until the first of these, which comes after a tick at
 * most, and only if the interrupt arrived during the few instructions that
 * count an access.
 */
#define memorizer_access_end()	preempt_enable_no_resched_notrace()

/* Was a mapping below that of the object used? Compares numbers, like entry.S. */
static __always_inline bool memorizer_is_below(const struct memorizer_object *obj,
					       u64 extent)
{
	return extent < memorizer_extent(obj->va, 0);
}

/*
 * Count an access to memory in its usual place, to an object with room or to a
 * page that is known to have no object. False: it is something else. Calls
 * nothing, because user memory may be open. Objects and maps stay while
 * preemption is off: see object.c. No READ_ONCE(): each value is loaded once as
 * it is, and it keeps the compiler from using memory operands. @ram: one of
 * memorizer_fast_end and memorizer_range_end, with @ranges the latter; or
 * memorizer_ram, if it is known that the access is one of theirs.
 */
static __always_inline bool memorizer_try(unsigned long addr, unsigned long ip, u64 kind,
					  unsigned long more, const unsigned long *ram,
					  bool ranges)
{
	unsigned long phys = memorizer_direct_phys(addr);
	struct memorizer_count c = { .ranges = ranges };
	struct memorizer_object *obj;
	struct memorizer_map *map;

	if (unlikely(phys >= *ram)) {
		if (unlikely(!*ram))
			return false;
		phys = memorizer_fixed_phys(addr);
		if (unlikely(phys >= *ram))
			return false;
	}
	map = memorizer_pages[phys >> PAGE_SHIFT];
	obj = map->objs[memorizer_index(map, phys)];
	c.key = memorizer_key(raw_cpu_read(memorizer_cpu.tags[0]), ip) | kind;
	if (unlikely((s64)c.key < 0))
		return false;
	if (likely((long)obj < 0)) {
		if (ranges) {
			c.extent = memorizer_extent(addr, more);
			if (unlikely(memorizer_is_below(obj, c.extent)))
				return false;
		}
		if (unlikely(!memorizer_try_count(obj, c)))
			return false;
	} else {
		if (unlikely(obj || !map->miss))
			return false;
		this_cpu_add(memorizer_cpu.miss[map->miss], memorizer_events(kind));
		return true;
	}
	this_cpu_add(memorizer_cpu.seen, memorizer_events(kind));
	return true;
}

/* The common case: no ranges. */
static __always_inline bool memorizer_try_access(unsigned long addr, unsigned long ip,
						 u64 kind)
{
	return memorizer_try(addr, ip, kind, 0, &memorizer_fast_end, false);
}

/* Where ranges are noted; @more: see memorizer_extent(). */
static __always_inline bool memorizer_try_range(unsigned long addr, unsigned long ip,
						u64 kind, unsigned long more)
{
	/*
	 * Make the compiler compute anew what the common case has computed:
	 * keeping it would take a register there.
	 */
	OPTIMIZER_HIDE_VAR(addr);
	return memorizer_try(addr, ip, kind, more, &memorizer_range_end, true);
}

/* @size bytes side by side, which are one access. */
static __always_inline void memorizer_access_range(unsigned long addr, unsigned long size,
						   unsigned long ip, u64 kind)
{
	preempt_disable_notrace();
	if (unlikely(!memorizer_try_access(addr, ip, kind) &&
		     !memorizer_try_range(addr, ip, kind, size - 1)))
		return memorizer_access_slow(addr, ip, kind, size - 1);
	memorizer_access_end();
}

#endif /* _MM_MEMORIZER_ACCESS_H */
