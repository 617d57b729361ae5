/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common case of an access, shared by the compiler's callbacks. Each
 * instruction here is paid at each access of the kernel.
 */
#ifndef _MM_MEMORIZER_ACCESS_H
#define _MM_MEMORIZER_ACCESS_H

#include "memorizer.h"

/* What an access does, and the index of its count; both: see memorizer_count(). */
#define MEMORIZER_READ		0
#define MEMORIZER_WRITE		1
#define MEMORIZER_READ_WRITE	2
#define MEMORIZER_HOW(how)	((how) & 3)
#define MEMORIZER_RANGE		4	/* bytes side by side, which are one access */
#define MEMORIZER_MORE_SHIFT	3	/* above: how many behind the first */

/*
 * The counter of an access that this CPU has seen lately, by the very address
 * and code address: most accesses are repeated soon. The site's key says
 * whether it is the same process, and whether the object is still there: see
 * memorizer_close(). Tasks only; interrupts neither look nor enter.
 */
struct memorizer_recent {
	unsigned long addr;
	struct memorizer_site *site;
};

#define MEMORIZER_RECENT	16384
#define MEMORIZER_NOWHERE	(1UL << 63)	/* no address at all */

DECLARE_PER_CPU(struct memorizer_recent [MEMORIZER_RECENT], memorizer_recents);

/* In bytes. */
static __always_inline unsigned long memorizer_recent_at(unsigned long addr,
							 unsigned long ip)
{
	return (addr + ip * 8) &
	       ((MEMORIZER_RECENT - 1) * sizeof(struct memorizer_recent));
}

static __always_inline struct memorizer_recent __percpu *
memorizer_recent(unsigned long at)
{
	return (void __percpu *)memorizer_recents + at;
}

/* Of a key that is not closed: see memorizer_lookup(). */
static __always_inline u32 memorizer_hash(u64 key)
{
	return key * 0x9e3779b97f4a7c15ULL >> 48;
}

static __always_inline u32 memorizer_first_slot(const struct memorizer_sites *sites,
						u64 key)
{
	return memorizer_hash(key) & sites->mask;
}

static_assert(MEMORIZER_MAX_SITES <= 1 << 16);	/* bits of the hash */

static __always_inline void memorizer_inc(u64 *count)
{
	raw_atomic64_inc((atomic64_t *)count);
}

static __always_inline u64 memorizer_events(unsigned long how)
{
	return MEMORIZER_HOW(how) == MEMORIZER_READ_WRITE ? 2 : 1;
}

static __always_inline void memorizer_count(struct memorizer_site *site, unsigned long how)
{
	if (likely(MEMORIZER_HOW(how) != MEMORIZER_READ_WRITE)) {
		memorizer_inc(&site->count[MEMORIZER_HOW(how)]);
		this_cpu_inc(memorizer_cpu.seen);
		return;
	}
	memorizer_inc(&site->count[MEMORIZER_READ]);
	memorizer_inc(&site->count[MEMORIZER_WRITE]);
	this_cpu_add(memorizer_cpu.seen, 2);
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
 * Count an access if it is a recent one; if not, leave the rest, and switching
 * preemption on again, to functions that are reached by a jump. Objects and
 * maps stay while preemption is off: see object.c. No READ_ONCE(): each value
 * is loaded once as it is, and it keeps the compiler from using memory
 * operands.
 */
static __always_inline void memorizer_access(unsigned long addr, unsigned long ip,
					     unsigned long how)
{
	struct memorizer_site *site;
	unsigned long at;
	u64 key;

	preempt_disable_notrace();
	if (unlikely(memorizer_in_irq()))
		return memorizer_access_slow(addr, ip, how);
	at = memorizer_recent_at(addr, ip);
	key = memorizer_key(current->memorizer.tag, ip);
	if (unlikely(raw_cpu_read(memorizer_recent(at)->addr) != addr))
		return memorizer_access_probe(addr, key, how, at);
	OPTIMIZER_HIDE_VAR(at);		/* no pointer in a register of its own */
	site = raw_cpu_read(memorizer_recent(at)->site);
	if (unlikely(site->key != key))
		return memorizer_access_probe(addr, key, how, at);
	memorizer_count(site, how);
	memorizer_access_end();
}

static __always_inline void memorizer_access_range(unsigned long addr, unsigned long size,
						   unsigned long ip, unsigned long how)
{
	/* Only where its end is noted does its length matter. */
	if (likely(!memorizer_print_fields))
		return memorizer_access(addr, ip, how);
	how |= MEMORIZER_RANGE;
	how |= min_t(unsigned long, size - 1, MEMORIZER_FAR) << MEMORIZER_MORE_SHIFT;
	preempt_disable_notrace();
	memorizer_access_slow(addr, ip, how);
}

#endif /* _MM_MEMORIZER_ACCESS_H */
