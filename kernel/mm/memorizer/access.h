/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common case of an access, shared by the compiler's callbacks. Each
 * instruction here is paid at each access of the kernel.
 */
#ifndef _MM_MEMORIZER_ACCESS_H
#define _MM_MEMORIZER_ACCESS_H

#include "memorizer.h"

/* A pid's part in the hash; kept in the task. */
static __always_inline u32 memorizer_mix(u32 pid)
{
	return pid * 0x85ebca6bU;
}

static __always_inline u32 memorizer_slot(u32 ip, u32 mix)
{
	return (ip + mix) * 0x9e3779b1U >> 16;
}

static __always_inline u32 memorizer_hash(u64 key)
{
	return memorizer_slot((u32)key, memorizer_mix(key >> 32));
}

static __always_inline void memorizer_inc(u64 *count)
{
	raw_atomic64_inc((atomic64_t *)count);
}

static __always_inline bool memorizer_in_irq(void)
{
	return preempt_count() & MEMORIZER_IRQ_BITS;
}

/* The object at @phys, a positive number in regions, or NULL. */
static __always_inline struct memorizer_object *memorizer_at(unsigned long phys)
{
	struct memorizer_map *map = memorizer_pages[phys >> PAGE_SHIFT];

	return map->objs[memorizer_index(map, phys)];
}

/*
 * Count a task's access if the site is known and in its first slot; if not,
 * leave the rest, and switching preemption on again, to functions that are
 * reached by a jump. No READ_ONCE(): each value is loaded once as it is, and
 * it keeps the compiler from using memory operands.
 */
static __always_inline void memorizer_task_access(unsigned long addr,
						  unsigned long ip, int write)
{
	struct memorizer_task *task = &current->memorizer;
	struct memorizer_object *obj;
	struct memorizer_sites *sites;
	struct memorizer_site *site;
	unsigned long phys;
	u64 key;

	phys = memorizer_direct_phys(addr);
	if (unlikely(phys >= memorizer_ram)) {
		phys = memorizer_fixed_phys(addr);
		if (unlikely(phys >= memorizer_ram_end))
			return memorizer_access_slow(addr, ip, write);
	}
	obj = memorizer_at(phys);
	if (unlikely((long)obj >= 0))
		return memorizer_access_slow(addr, ip, write);
	key = task->tag | memorizer_pack_ip(ip);
	sites = obj->sites;
	site = &sites->site[memorizer_slot(ip, task->mix) & sites->mask];
	if (unlikely(site->key != key))
		return memorizer_access_probe(obj, key, write);
	memorizer_inc(&site->count[write]);
	this_cpu_inc(memorizer_cpu.seen);
	preempt_enable_no_resched_notrace();
}

static __always_inline bool memorizer_not_mine(void)
{
	return static_branch_unlikely(&memorizer_marked_key) &&
	       !memorizer_in_irq() &&
	       !memorizer_task_marked(current);
}

/* Objects and maps stay while preemption is off: see object.c. */
static __always_inline void memorizer_access(unsigned long addr, unsigned long ip,
					     int write)
{
	if (memorizer_not_mine())
		return;
	preempt_disable_notrace();
	if (unlikely(memorizer_in_irq()))
		return memorizer_access_slow(addr, ip, write);
	memorizer_task_access(addr, ip, write);
}

#endif /* _MM_MEMORIZER_ACCESS_H */
