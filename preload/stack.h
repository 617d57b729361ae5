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

/* A record with text behind it: at most MZ_TEXT_MAX bytes, the rest is cut. */
#define MZ_TEXT_MAX 480u
void mz_append_text(uint8_t type, uint64_t addr, const char *text, size_t len)
	__attribute__((visibility("hidden")));

#endif
