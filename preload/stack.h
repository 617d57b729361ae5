/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks of the program under test. */
#ifndef MZ_PRELOAD_STACK_H
#define MZ_PRELOAD_STACK_H

#include "ring.h"

uint32_t mz_stack_slow(struct mz_thread *t) __attribute__((visibility("hidden")));

/* The number of the stack of the caller; 0 = none are taken. */
static inline uint32_t mz_stack(struct mz_thread *t)
{
	return mz_region->stack_depth ? mz_stack_slow(t) : 0;
}

/* In a child: the recorder knows nothing of it yet. */
void mz_stack_forget(void) __attribute__((visibility("hidden")));

/* Another recorder, which knows nothing either; other threads may be looking. */
void mz_stack_restart(void) __attribute__((visibility("hidden")));

#endif
