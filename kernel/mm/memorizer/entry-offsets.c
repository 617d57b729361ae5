// SPDX-License-Identifier: GPL-2.0
/*
 * What entry.S and calls_entry.S must know about structures.
 */
#define COMPILE_OFFSETS

#include <linux/kbuild.h>

#include "access.h"
#include "calls.h"
#include "memorizer.h"

static void __used common(void)
{
	OFFSET(MEMORIZER_tag, task_struct, memorizer.tag);
	OFFSET(MEMORIZER_seen, memorizer_cpu, seen);
	OFFSET(MEMORIZER_tags, memorizer_cpu, tags);
	OFFSET(MEMORIZER_end, memorizer_cpu, end);
	OFFSET(MEMORIZER_miss, memorizer_cpu, miss);
	DEFINE(MEMORIZER_vmemmap_pieces, MEMORIZER_VMEMMAP_PIECES);
	OFFSET(MEMORIZER_irq_tag, memorizer_cpu, irq_tag);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	OFFSET(MEMORIZER_preempt_count, pcpu_hot, preempt_count);
#endif
	DEFINE(MEMORIZER_irq_bits, MEMORIZER_IRQ_BITS);
	DEFINE(MEMORIZER_nmi_mask, NMI_MASK);
	OFFSET(MEMORIZER_map_base, memorizer_map, base);
	OFFSET(MEMORIZER_map_recip, memorizer_map, recip);
	OFFSET(MEMORIZER_map_miss, memorizer_map, miss);
	OFFSET(MEMORIZER_map_objs, memorizer_map, objs);
	OFFSET(MEMORIZER_sites, memorizer_object, sites);
	OFFSET(MEMORIZER_mask, memorizer_sites, mask);
	OFFSET(MEMORIZER_room, memorizer_sites, room);
	OFFSET(MEMORIZER_ranges, memorizer_sites, ranges);
	OFFSET(MEMORIZER_range_room, memorizer_sites, range_room);
	OFFSET(MEMORIZER_entry, memorizer_sites, entry);
	DEFINE(MEMORIZER_hash_factor, MEMORIZER_HASH_FACTOR);
	DEFINE(MEMORIZER_hash_shift, MEMORIZER_HASH_SHIFT);
	OFFSET(MEMORIZER_calls_mask, memorizer_calls, mask);
	OFFSET(MEMORIZER_calls_call, memorizer_calls, call);
	OFFSET(MEMORIZER_call_tag, memorizer_call, tag);
	OFFSET(MEMORIZER_call_count, memorizer_call, count);
	DEFINE(MEMORIZER_call_size, sizeof(struct memorizer_call));
	DEFINE(MEMORIZER_calls_factor, MEMORIZER_CALLS_FACTOR);
}
