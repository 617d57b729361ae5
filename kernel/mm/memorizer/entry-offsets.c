// SPDX-License-Identifier: GPL-2.0
/*
 * What entry.S must know about structures.
 */
#define COMPILE_OFFSETS

#include <linux/kbuild.h>

#include "access.h"
#include "memorizer.h"

static void __used common(void)
{
	OFFSET(MEMORIZER_tag, task_struct, memorizer.tag);
	OFFSET(MEMORIZER_seen, memorizer_cpu, seen);
	OFFSET(MEMORIZER_preempt_count, pcpu_hot, preempt_count);
	DEFINE(MEMORIZER_irq_bits, MEMORIZER_IRQ_BITS);
	DEFINE(MEMORIZER_recent_mask,
	       (MEMORIZER_RECENT - 1) * sizeof(struct memorizer_recent));
}
