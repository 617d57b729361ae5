/* SPDX-License-Identifier: BSD-2-Clause */
/* What kbuild makes for the kernel: here as entry.c lays it out. */
#define MEMORIZER_tag		16
#define MEMORIZER_seen		0
#define MEMORIZER_preempt_count 8
#define MEMORIZER_irq_bits	0x00ff0100
#define MEMORIZER_recent_mask	(1023 * 16)
