/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk up the stack of a thread, through code with and without unwind tables. */
#ifndef MZ_PRELOAD_WALK_H
#define MZ_PRELOAD_WALK_H

#include "unwind.h"

/* Where a walk begins, and its current position. */
struct mz_frame_at {
	uintptr_t pc; /* where the call returns to */
	uintptr_t sp, bp;
};

/* The return addresses from the frame on, innermost first, at most max of them, of
 * a stack that ends below top. *how gets bits of enum mz_stack_how. */
HIDDEN unsigned mz_walk(struct mz_frame_at at, uintptr_t top, uintptr_t *ips, unsigned max,
			uint8_t *how);

/* Bytes of the table of known code addresses: zeros at first. */
HIDDEN size_t mz_walk_table(void);
HIDDEN void mz_walk_use(void *table);

/* A code address in this module occurred: called by mz_walk(). */
HIDDEN void mz_walk_met(const struct mz_module *m);

#endif
