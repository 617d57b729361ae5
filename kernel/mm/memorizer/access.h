/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common case of an access, shared by the compiler's callbacks. Each
 * instruction here is paid at each access of the kernel.
 */
#ifndef _MM_MEMORIZER_ACCESS_H
#define _MM_MEMORIZER_ACCESS_H

#include <linux/uaccess.h>

#include "memorizer.h"

static __always_inline u32 memorizer_hash(u64 key)
{
	return (key * 0x9e3779b97f4a7c15ULL) >> 32;
}

static __always_inline void memorizer_inc(u64 *count)
{
	raw_atomic64_inc((atomic64_t *)count);
}

/*
 * Count if the site is known and in its first slot. False is not a verdict:
 * memorizer_access_slow() decides.
 */
static __always_inline bool memorizer_hit(unsigned long addr, unsigned long ip,
					  int write)
{
	struct memorizer_object *obj;
	struct memorizer_sites *sites;
	struct memorizer_site *site;
	struct memorizer_map *map;
	unsigned long phys;
	u64 key;

	if (unlikely(preempt_count() & MEMORIZER_IRQ_BITS))
		return false;
	phys = memorizer_linear_phys(addr, memorizer_ram);
	if (unlikely(phys >= memorizer_ram))
		return false;
	map = READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
	obj = READ_ONCE(map->objs[memorizer_index(map, phys)]);
	if (unlikely((long)obj >= 0))
		return false;
	key = current->memorizer.tag | memorizer_pack_ip(ip);
	sites = READ_ONCE(obj->sites);
	site = &sites->site[memorizer_hash(key) & sites->mask];
	if (unlikely(READ_ONCE(site->key) != key))
		return false;
	memorizer_inc(&site->count[write]);
	this_cpu_inc(memorizer_cpu.seen);
	return true;
}

static __always_inline bool memorizer_not_mine(void)
{
	return static_branch_unlikely(&memorizer_marked_key) &&
	       !(preempt_count() & MEMORIZER_IRQ_BITS) &&
	       !memorizer_task_marked(current);
}

/* Objects and maps stay while preemption is off: see object.c. */
static __always_inline void memorizer_access(unsigned long addr, unsigned long ip,
					     int write)
{
	if (memorizer_not_mine())
		return;
	preempt_disable_notrace();
	if (!memorizer_hit(addr, ip, write))
		memorizer_access_slow(addr, ip, write);
	preempt_enable_no_resched_notrace();
}

/* The same for callers that may have user memory open. */
static __always_inline void memorizer_access_any(unsigned long addr,
						 unsigned long ip, int write)
{
	if (memorizer_not_mine())
		return;
	preempt_disable_notrace();
	if (!memorizer_hit(addr, ip, write)) {
		unsigned long ua = user_access_save();

		memorizer_access_slow(addr, ip, write);
		user_access_restore(ua);
	}
	preempt_enable_no_resched_notrace();
}

#endif /* _MM_MEMORIZER_ACCESS_H */
