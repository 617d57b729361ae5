// SPDX-License-Identifier: GPL-2.0
/*
 * The lock of the runtime. The kernel's own spinlocks call instrumented code
 * when they wait, which would re-enter the runtime.
 *
 * It is held for a few dozen instructions, with interrupts disabled, never in
 * an NMI. Nothing that is called under it is instrumented.
 */
#include <linux/atomic.h>
#include <linux/irqflags.h>
#include <linux/processor.h>

#include "memorizer.h"

static atomic_t lock_word;

unsigned long memorizer_lock(void)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	while (raw_atomic_cmpxchg_acquire(&lock_word, 0, 1)) {
		while (raw_atomic_read(&lock_word))
			cpu_relax();
	}
	return flags;
}

void memorizer_unlock(unsigned long flags)
{
	raw_atomic_set_release(&lock_word, 0);
	raw_local_irq_restore(flags);
}
