// SPDX-License-Identifier: GPL-2.0
/*
 * The counts of objects: logs and tables of access sites, and everything about
 * an access that is not the common case.
 *
 * No locks: an entry of a log is claimed by a decrement and an unused slot with
 * cmpxchg, a log or a table is replaced with cmpxchg, counters are incremented
 * atomically. An interrupt or another CPU may do the same at the same moment.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "access.h"
#include "frames.h"
#include "memorizer.h"

/* What is in no map can be given back when this returns. Sleeps. */
void memorizer_quiesce(void)
{
	synchronize_rcu();
}

/* An empty log of @words, which are 0. */
void memorizer_start_log(struct memorizer_sites *log, u32 words, bool ranges)
{
	log->words = words;
	log->room = words;
	if (ranges) {
		log->room = MEMORIZER_NO_ROOM;
		log->range_room = words & ~1U;
	}
}

static struct memorizer_sites *new_log(u32 words, bool ranges)
{
	struct memorizer_sites *new;

	new = memorizer_pool_alloc(struct_size(new, entry, words));
	if (new)
		memorizer_start_log(new, words, ranges);
	return new;
}

static struct memorizer_sites *new_table(u32 slots, bool ranges)
{
	u32 nr = slots - 1 + MEMORIZER_REACH, size = memorizer_slot_size(ranges);
	struct memorizer_sites *new;

	new = memorizer_pool_alloc(sizeof(*new) + nr * size);
	if (!new)
		return NULL;
	new->ranges = ranges;
	new->mask = (slots - 1) * size;
	return new;
}

/* Twice as large, so that there are few; or as large, if only extents are missing. */
static struct memorizer_sites *larger_table(const struct memorizer_sites *old, bool ranges)
{
	u32 piece = ranges ? MEMORIZER_MAX_RANGES : MEMORIZER_MAX_PIECE;
	u32 slots = memorizer_nr(old) + 1 - MEMORIZER_REACH;
	struct memorizer_sites *new;

	if (old->ranges >= ranges)
		slots = min(2 * slots, MEMORIZER_MAX_SITES);
	new = new_table(slots, ranges);
	return new || slots <= piece ? new : new_table(piece, ranges);
}

/* What comes after @old, with or without ranges. */
static struct memorizer_sites *new_sites(const struct memorizer_sites *old, bool ranges)
{
	if (!memorizer_is_log(old))
		return larger_table(old, ranges);
	if (old->words == MEMORIZER_FIRST_LOG)
		return new_log(ranges ? MEMORIZER_SECOND_RANGES : MEMORIZER_SECOND_LOG, ranges);
	if (old->words < MEMORIZER_THIRD_LOG)
		return new_log(ranges ? MEMORIZER_THIRD_RANGES : MEMORIZER_THIRD_LOG, ranges);
	return new_table(MEMORIZER_FIRST_TABLE, ranges);
}

/* Put more room in front of @old; false if there is no memory. */
static bool grow(struct memorizer_object *obj, struct memorizer_sites *old, bool ranges)
{
	struct memorizer_sites *new = new_sites(old, ranges);
	unsigned long flags;

	if (!new)
		return false;
	new->prev = old;
	/* Pairs with the address dependency of those that load obj->sites. */
	if (cmpxchg(&obj->sites, old, new) == old)
		return true;
	flags = memorizer_lock();
	memorizer_pool_free(new);
	memorizer_unlock(flags);
	return true;
}

/*
 * Count under pid -1, which takes no slot of its own for each process. Where
 * there is only a full log, there is no room for that either.
 */
static bool count_folded(struct memorizer_object *obj, struct memorizer_count c)
{
	memorizer_kick_worker();
	c.key |= MEMORIZER_PID_FOLDED;
	if (memorizer_is_log(READ_ONCE(obj->sites)) || !memorizer_try_count(obj, c))
		return false;
	this_cpu_inc(memorizer_cpu.folded);
	return true;
}

/* Count @c at @obj, with more room if need be; false if there is no memory. */
static bool count(struct memorizer_object *obj, struct memorizer_count c)
{
	struct memorizer_sites *sites;

	do {
		sites = READ_ONCE(obj->sites);
		if (memorizer_try_count(obj, c))
			return true;
	} while (grow(obj, sites, c.ranges));
	return count_folded(obj, c);
}

/* Of an access without a range. */
bool memorizer_count(struct memorizer_object *obj, u64 key)
{
	return count(obj, (struct memorizer_count){ .key = key });
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

static void missed(enum memorizer_miss miss, u64 kind)
{
	this_cpu_add(memorizer_cpu.miss[miss], memorizer_events(kind));
}

/* The tag to count under; false if this context is not counted. */
static bool get_tag(u64 *tag, u64 kind)
{
	unsigned int pc = preempt_count();

	if (likely(!(pc & MEMORIZER_IRQ_BITS))) {
		*tag = current->memorizer.tag;
		if (static_branch_unlikely(&memorizer_marked_key) &&
		    !memorizer_task_marked(current))
			return false;
	} else if (unlikely(pc & NMI_MASK)) {
		missed(ACCESS_NMI, kind);
		return false;
	} else {
		if (static_branch_unlikely(&memorizer_marked_key) && memorizer_mode != 2)
			return false;
		*tag = raw_cpu_read(memorizer_cpu.irq_tag);
	}
	return !(*tag & MEMORIZER_HIDDEN);
}

/* The object at @addr; NULL: there is none, and what was hit instead is counted. */
static struct memorizer_object *find_object(unsigned long addr, u64 kind)
{
	unsigned long phys = memorizer_phys(addr);
	struct memorizer_object *obj = NULL;
	enum memorizer_miss miss;

	if (likely(phys < memorizer_ram)) {
		obj = memorizer_at(phys);
		if ((long)obj > 0)
			obj = memorizer_resolve(memorizer_pages[phys >> PAGE_SHIFT], phys);
	}
	if (unlikely(!obj)) {
		miss = no_object(addr, phys);
		memorizer_map_miss(addr, miss);
		missed(miss, kind);
	}
	return obj;
}

/* There is no memory for the site. */
static void lost(const struct memorizer_object *obj, u64 kind)
{
	missed(ACCESS_MEMORY, kind);
	if (memorizer_is_frame(obj))
		memorizer_frame_lost(kind);
}

/*
 * Beyond all that is noted if it is by a mapping below that of the object. Frames of
 * a function are in many places: where in them is not noted either. Their record
 * moves to the largest that was seen, so that what lies behind them is the last
 * byte of all memory.
 */
static u64 extent_in(const struct memorizer_object *obj, unsigned long addr,
		     unsigned long more)
{
	u64 extent = memorizer_extent(addr, more);

	if (memorizer_is_frame(obj))
		return memorizer_extent(ULONG_MAX, 0);
	if (memorizer_is_below(obj, extent))
		return memorizer_extent(obj->va + MEMORIZER_FAR, 0);
	return extent;
}

static void count_any(unsigned long addr, unsigned long ip, u64 kind, unsigned long more)
{
	struct memorizer_count c = { .ranges = memorizer_print_fields };
	struct memorizer_object *obj;

	if (unlikely(!get_tag(&c.key, kind)))
		return;
	obj = find_object(addr, kind);
	if (!obj)
		return;
	if (memorizer_framed(addr))
		obj = memorizer_frame(obj, addr, kind);
	c.key = memorizer_key(c.key, ip) | kind;
	c.extent = extent_in(obj, addr, more);
	if (count(obj, c))
		this_cpu_add(memorizer_cpu.seen, memorizer_events(kind));
	else
		lost(obj, kind);
}

static noinline void memorizer_access_probe(unsigned long addr, unsigned long ip,
					    u64 kind, unsigned long more)
{
	unsigned long ua = user_access_save();

	count_any(addr, ip, kind, more);
	user_access_restore(ua);
}

/*
 * While accesses are counted at frames, all come the long way. Those that are not
 * to the stack in use, and for which nothing else is asked, are the common case.
 */
static __always_inline bool try_beside_frames(unsigned long addr, unsigned long ip,
					      u64 kind, unsigned long more)
{
	if (!memorizer_frames_on() || memorizer_own_stack(addr) || memorizer_mode != 1)
		return false;
	if (memorizer_print_fields)
		return memorizer_try(addr, ip, kind, more, &memorizer_ram, true);
	return memorizer_try(addr, ip, kind, 0, &memorizer_ram, false);
}

static __always_inline void access_any(unsigned long addr, unsigned long ip, u64 kind,
				       unsigned long more)
{
	if (!try_beside_frames(addr, ip, kind, more))
		memorizer_access_probe(addr, ip, kind, more);
}

/*
 * Any access. It may come while user memory is open, which objtool knows by the
 * names of this one and the one above; and it ends with switching preemption on.
 */
void memorizer_access_slow(unsigned long addr, unsigned long ip, u64 kind,
			   unsigned long more)
{
	access_any(addr, ip, kind, more);
	memorizer_access_end();
}

/* What follows the call that reports accesses. */
struct report {
	u8 code[8];
	s16 more;		/* to the second; or bytes more of a single one, unsigned */
} __packed;

/*
 * Two accesses of the same object, at @ip and at the byte after it, as two if there
 * must be more room.
 */
static __always_inline void touched_pair(unsigned long addr, unsigned long ip, u64 kind,
					 long distance)
{
	u64 first = memorizer_pair_writes(kind, 0) ? MEMORIZER_WRITE : MEMORIZER_READ;
	u64 second = memorizer_pair_writes(kind, 1) ? MEMORIZER_WRITE : MEMORIZER_READ;

	if (memorizer_try_range(addr, ip, kind, (u16)distance))
		return;
	if (!memorizer_try_range(addr, ip, first, 0))
		access_any(addr, ip, first, 0);
	addr += distance;
	if (!memorizer_try_range(addr, ip + 1, second, 0))
		access_any(addr, ip + 1, second, 0);
}

/*
 * The plugin's report of an access or a pair that entry.S does not count. Preemption
 * is off, and on again at the end.
 */
void memorizer_touched(unsigned long addr, unsigned long ip, u64 kind)
{
	long more = ((struct report *)ip)->more;

	/* Code is patched before counting begins, and after it ends. */
	if (unlikely(!memorizer_counting) || memorizer_try_access(addr, ip, kind))
		;
	else if (kind & MEMORIZER_PAIR)
		touched_pair(addr, ip, kind, more);
	else if (!memorizer_try_range(addr, ip, kind, (u16)more))
		access_any(addr, ip, kind, (u16)more);
	memorizer_access_end();
}
