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

static_assert(MEMORIZER_MAX_SITES * sizeof(struct memorizer_site) <=
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

static __always_inline bool memorizer_in_irq(void)
{
	return memorizer_test_preempt_count(MEMORIZER_IRQ_BITS);
}

/* The object at @phys, a positive number in regions, or NULL. */
static __always_inline struct memorizer_object *memorizer_at(unsigned long phys)
{
	struct memorizer_map *map = memorizer_pages[phys >> PAGE_SHIFT];

	return map->objs[memorizer_index(map, phys)];
}

/* Enter one access into a log; false if it is full. */
static __always_inline bool memorizer_enter(struct memorizer_sites *log, u64 key)
{
	s64 at = raw_atomic64_dec_return((atomic64_t *)&log->room);

	if (unlikely(at < 0))
		return false;
	WRITE_ONCE(log->entry[at], key);
	return true;
}

/* The slot of @key in a table, entered if it is not there; NULL: no room. */
static __always_inline struct memorizer_site *
memorizer_find_site(struct memorizer_sites *table, u64 key)
{
	struct memorizer_site *site = memorizer_first_slot(table, key);
	struct memorizer_site *end;
	u64 found;

	if (likely(READ_ONCE(site->key) == key))
		return site;
	for (end = site + MEMORIZER_REACH; site < end; site++) {
		found = READ_ONCE(site->key);
		if (found == key)
			return site;
		if (!found && (try_cmpxchg(&site->key, &found, key) || found == key))
			return site;
	}
	return NULL;
}

/* Count in the newest log or table, if there is room. Calls nothing. */
static __always_inline bool memorizer_try_count(struct memorizer_object *obj, u64 key)
{
	struct memorizer_sites *sites = READ_ONCE(obj->sites);
	struct memorizer_site *site;

	if (memorizer_is_log(sites))
		return memorizer_enter(sites, key);
	site = memorizer_find_site(sites, key);
	if (unlikely(!site))
		return false;
	memorizer_inc(&site->count);
	return true;
}

/*
 * The end of an access is no preemption point. It must not be one: the compiler
 * reports accesses while user memory is open (a switch of tasks does not keep
 * that flag) and inside of the scheduler, and a call here would cost every
 * access its saved registers. Nothing is lost by it: an interrupt that wants a
 * switch while an access is counted has set the flag in preempt_count, and the
 * next preempt_enable(), end of an interrupt or return to user space obeys it.
 * What is put off is put off by no more than an interrupts-on stretch of the
 * kernel without any of these, a tick at most; and only if the interrupt fell
 * into the few instructions of a count.
 */
#define memorizer_access_end()	preempt_enable_no_resched_notrace()

/*
 * Count an access to memory in its usual place, to an object with room or to a
 * page that is known to have no object. False: it is something else. Calls
 * nothing, because user memory may be open. Objects and maps stay while
 * preemption is off: see object.c. No READ_ONCE(): each value is loaded once as
 * it is, and it keeps the compiler from using memory operands.
 */
static __always_inline bool memorizer_try_access(unsigned long addr, unsigned long ip,
						 u64 kind)
{
	unsigned long phys = memorizer_direct_phys(addr);
	struct memorizer_object *obj;
	struct memorizer_map *map;
	u64 key;

	if (unlikely(phys >= memorizer_fast_end)) {
		if (unlikely(!memorizer_fast_end))
			return false;
		phys = memorizer_fixed_phys(addr);
		if (unlikely(phys >= memorizer_fast_end))
			return false;
	}
	map = memorizer_pages[phys >> PAGE_SHIFT];
	obj = map->objs[memorizer_index(map, phys)];
	key = current->memorizer.tag;
	if (unlikely(memorizer_in_irq())) {
		if (unlikely(memorizer_test_preempt_count(NMI_MASK)))
			return false;
		key = raw_cpu_read(memorizer_cpu.irq_tag);
	}
	key = memorizer_key(key, ip) | kind;
	if (unlikely((s64)key < 0))
		return false;
	if (likely((long)obj < 0)) {
		if (unlikely(!memorizer_try_count(obj, key)))
			return false;
	} else {
		if (unlikely(obj || !map->miss))
			return false;
		this_cpu_add(memorizer_cpu.miss[map->miss], memorizer_events(kind));
	}
	this_cpu_add(memorizer_cpu.seen, memorizer_events(kind));
	return true;
}

static __always_inline void memorizer_access(unsigned long addr, unsigned long ip,
					     u64 kind)
{
	preempt_disable_notrace();
	if (unlikely(!memorizer_try_access(addr, ip, kind)))
		return memorizer_access_slow(addr, ip, kind, 0);
	memorizer_access_end();
}

/* @size bytes side by side, which are one access. */
static __always_inline void memorizer_access_range(unsigned long addr, unsigned long size,
						   unsigned long ip, u64 kind)
{
	preempt_disable_notrace();
	if (unlikely(!memorizer_try_access(addr, ip, kind)))
		return memorizer_access_slow(addr, ip, kind, size - 1);
	memorizer_access_end();
}

#endif /* _MM_MEMORIZER_ACCESS_H */
