/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks of the recorded program. */
#ifndef MZ_PRELOAD_STACK_H
#define MZ_PRELOAD_STACK_H

#include "ring.h"

uint32_t mz_stack_slow(struct mz_thread *t) __attribute__((visibility("hidden")));

/* The number of the caller's stack; 0 = stacks are not recorded. */
static inline uint32_t mz_stack(struct mz_thread *t)
{
	return mz_region->stack_depth ? mz_stack_slow(t) : 0;
}

/* In a child: the recorder has none of its stacks yet. */
void mz_stack_forget(void) __attribute__((visibility("hidden")));

/* Another recorder, which has none either; other threads may be using the table. */
void mz_stack_restart(void) __attribute__((visibility("hidden")));

/* Libraries were unloaded: what is known about their code is no longer true. */
__attribute__((visibility("hidden"))) void mz_stack_unloaded(void);

#endif
