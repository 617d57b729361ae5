/* SPDX-License-Identifier: BSD-2-Clause */
/* What a replay does: calls of an allocator on numbered slots. */
/*
 * A slot holds one live block and is used again after it, so that the table of pointers is as long
 * as the most blocks that lived at once.
 */
#ifndef MZ_REPLAY_OP_H
#define MZ_REPLAY_OP_H

#include <assert.h>
#include <memorizer.h>

/* Slot 0 is always NULL: free(NULL), and calls that gave nothing. */
#define MZ_SLOT_NULL 0u
#define MZ_SLOT_MAX  (UINT32_MAX - 1)

enum mz_op_flags {
	MZ_OP_NOTHING = 1 << 0, /* the call gave NULL in the trace: if it gives a block
				   here, that is freed at once */
	MZ_OP_LATE = 1 << 1,	/* a free that the trace lacks, made up */
	MZ_OP_FRESH = 1 << 2,	/* realloc: nothing of the block was written before */
};

struct mz_op {
	uint64_t size; /* as passed: of one element, for calloc and reallocarray */
	uint64_t arg;  /* count, alignment; realloc: bytes of the old block */
	union {
		uint64_t time;	 /* in ns from the first event; until it was replayed */
		uint64_t result; /* the address that the call returned; after a verbose replay */
	};
	uint32_t slot;
	uint16_t turn; /* of the slot: how many operations came before, modulo 2^16 */
	uint8_t call;  /* enum mz_call */
	uint8_t flags; /* enum mz_op_flags */
};

static_assert(sizeof(struct mz_op) == 32, "two operations a cache line");

#endif
