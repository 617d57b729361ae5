// SPDX-License-Identifier: GPL-2.0
/*
 * The tag under which the accesses of a CPU are counted, and whether entry.S
 * may count them. An access reads both from the CPU's own memory. Here they are
 * set when they change: at a switch of tasks, at the beginning and the end of
 * an interrupt, and when a tag or one of Memorizer's own switches changes.
 */
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "memorizer.h"

/* In the order of the entries in entry.S. */
const u64 memorizer_kinds[MEMORIZER_NR_KINDS] = {
	MEMORIZER_READ, MEMORIZER_WRITE, MEMORIZER_READ_WRITE, MEMORIZER_PAIR_RR,
	MEMORIZER_PAIR_RW, MEMORIZER_PAIR_WR, MEMORIZER_PAIR_WW,
};

/* Of NMI and of Memorizer's own work the tag is hidden. Interrupts are off. */
noinstr void memorizer_context(void)
{
	unsigned int pc = preempt_count();
	u64 tag = current->memorizer.tag;
	unsigned long end = 0;
	int i;

	if (unlikely(pc & MEMORIZER_IRQ_BITS))
		tag = pc & NMI_MASK ? MEMORIZER_HIDDEN | memorizer_tag(0) :
				      raw_cpu_read(memorizer_cpu.irq_tag);
	if (likely(!(tag & MEMORIZER_HIDDEN)))
		end = memorizer_entry_end;
	for (i = 0; i < MEMORIZER_NR_KINDS; i++)
		raw_cpu_write(memorizer_cpu.tags[i], tag | memorizer_kinds[i]);
	raw_cpu_write(memorizer_cpu.end, end);
}
EXPORT_SYMBOL_GPL(memorizer_context);

/* The tag of this task or of interrupts has changed. */
void memorizer_tag_changed(void)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	memorizer_context();
	raw_local_irq_restore(flags);
}

static void context_fn(void *unused)
{
	memorizer_context();
}

/* When this returns, all CPUs use the new values of the switches. Sleeps. */
void memorizer_switches_changed(void)
{
	on_each_cpu(context_fn, NULL, 1);
}

/* The same for another task. An interrupt tells the CPU that it runs on. */
void memorizer_task_tag_changed(struct task_struct *task)
{
	if (task == current)
		memorizer_tag_changed();
	else
		kick_process(task);
}

void memorizer_set_irq_tag(u64 tag)
{
	this_cpu_write(memorizer_cpu.irq_tag, tag);
	memorizer_tag_changed();
}
