/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's build generates, for kernel.h; main.c compares. */
#define MEMORIZER_tag		8
#define MEMORIZER_preempt_count 8
#define MEMORIZER_irq_tag	0
#define MEMORIZER_irq_bits	0xff0100
#define MEMORIZER_nmi_mask	0xf00000
#define MEMORIZER_calls_mask	0
#define MEMORIZER_calls_call	32
#define MEMORIZER_call_tag	8
#define MEMORIZER_call_count	16
#define MEMORIZER_call_size	32
#define MEMORIZER_calls_factor	0x9e3779b97f4a7c15
