/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk up the stack of a thread, through code with and without unwind tables. */
#ifndef MZ_PRELOAD_WALK_H
#define MZ_PRELOAD_WALK_H

#include <uapi/memorizer/record.h>

#include "unwind.h"

/* Where a walk begins, and its current position. */
struct mz_frame_at {
	uintptr_t pc; /* where the call returns to */
	uintptr_t sp, bp;
};

/* A frame of the previous walk, and where the words were read that led to it from its callee: the
 * return address is below sp, and rbp was at bp_at (0: rbp is that of the callee). */
struct mz_step {
	struct mz_frame_at at;
	uintptr_t bp_at;
};

/*
 * The previous walk of a thread, most of which the next walk repeats: from a frame that both have
 * in common, the next walk leads to the same frames as long as these words are the same. Comparing
 * the words is several times as fast as looking up the rows of a table, each of which depends on
 * the row before. There are two lists, so that the list in use is complete even if a signal handler
 * jumps out of a walk.
 */
#define MZ_STEPS 256u
struct mz_walked {
	uint32_t count;
	uint32_t which;
	struct mz_step steps[2][MZ_STEPS]; /* innermost first */
};

/* The return addresses from the frame on, innermost first, at most max of them. *how gets bits of
 * enum mz_stack_how. */
HIDDEN unsigned mz_walk(struct mz_frame_at at, uintptr_t *ips, unsigned max, uint8_t *how,
			struct mz_walked *walked);

/* The end of the thread's own stack, if this address is on it: then everything in between can be
 * read. 0 = it is another stack. Called by mz_walk(). */
HIDDEN uintptr_t mz_walk_top(uintptr_t sp);

/* Bytes of the table of known code addresses: zeros at first. */
HIDDEN size_t mz_walk_table(void);
HIDDEN void mz_walk_use(void *table);

/* A code address in this module occurred: called by mz_walk(). */
HIDDEN void mz_walk_met(const struct mz_module *m);

#endif
