/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks for what a CPU is doing: another task, an interrupt or its end, and an
 * interrupt of the code that counts an access.
 */
#ifndef _LINUX_MEMORIZER_CONTEXT_H
#define _LINUX_MEMORIZER_CONTEXT_H

#ifdef CONFIG_MEMORIZER

#include <linux/compiler.h>

/**
 * memorizer_context - the task or the interrupt bits of preempt_count have changed
 *
 * Interrupts are off.
 */
void memorizer_context(void);

extern const char __memorizer_entries[], __memorizer_entries_end[];

/*
 * The code that counts an access holds what a grace period of RCU would give back.
 * It does not touch preempt_count for that: the code that interrupts it does.
 */
#define memorizer_counts_at(regs)						\
	((regs)->ip - (unsigned long)__memorizer_entries <			\
	 (unsigned long)(__memorizer_entries_end - __memorizer_entries))

/**
 * memorizer_interrupt - an interrupt begins in the kernel
 * @regs: of what it interrupts
 */
#define memorizer_interrupt(regs)						\
	do {									\
		if (unlikely(memorizer_counts_at(regs)))			\
			__preempt_count_add(1);					\
	} while (0)

/**
 * memorizer_interrupt_end - and is over; no preemption point
 * @regs: of what it has interrupted
 */
#define memorizer_interrupt_end(regs)						\
	do {									\
		if (unlikely(memorizer_counts_at(regs)))			\
			__preempt_count_sub(1);					\
	} while (0)

#else

static __always_inline void memorizer_context(void) { }

#define memorizer_interrupt(regs)	do { } while (0)
#define memorizer_interrupt_end(regs)	do { } while (0)

#endif

#endif /* _LINUX_MEMORIZER_CONTEXT_H */
