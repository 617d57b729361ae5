/* SPDX-License-Identifier: BSD-2-Clause */
/* Predict where an allocator puts the next block. */
/*
 * It may be at the place that was freed last for a block of its class, behind the previous block,
 * and so on. An address is stored as the number of the guess that is right, or as a delta.
 */
#ifndef MZ_TRACE_ADDR_PREDICT_H
#define MZ_TRACE_ADDR_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

/* How sizes are rounded: the class of a block, and its room. */
enum mz_rounding {
	MZ_ROUND_HEADER, /* 8 bytes more, to a multiple of 16, at least 32 */
	MZ_ROUND_8,
	MZ_ROUND_16,
	MZ_ROUND_QUARTERS, /* to 16s up to 128, then four steps to a doubling */
	MZ_ROUNDINGS
};

struct mz_addr_predict;

struct mz_addr_predict *mz_addr_predict_new(void);
void mz_addr_predict_free(struct mz_addr_predict *pl);
/* Nothing is known; addresses are multiples of 1 << shift. */
void mz_addr_predict_reset(struct mz_addr_predict *pl, enum mz_rounding rounding, unsigned shift);

uint64_t mz_addr_predict_room(enum mz_rounding rounding, uint64_t size);

/* How the address is stored. */
struct mz_predicted {
	uint32_t how;	/* the guess that is right; 0: by delta */
	uint64_t delta; /* zigzag, from the preceding block; MZ_PLACE_AGAIN: number of the delta */
};

/* The address was stored as a delta before: programs return to the same places. */
#define MZ_PLACE_AGAIN 69

/* A new block of size is at addr; it replaces the block at old (0: none). */
int mz_addr_predict_tell(struct mz_addr_predict *pl, uint64_t size, uint64_t old, uint64_t addr,
			 struct mz_predicted *place);
/* Blocks will begin at `next` and then at `soon`: prefetches what is known about these
 * addresses. */
void mz_addr_predict_fetch(struct mz_addr_predict *pl, uint64_t soon, uint64_t next);

/* The bytes that a block of a size takes, and its class. */
struct mz_room {
	uint64_t room;
	uint32_t class;
};
struct mz_room mz_addr_predict_fit(const struct mz_addr_predict *pl, uint64_t size);

/* The bytes that the allocator is expected to give for a size. */
uint64_t mz_addr_predict_given(const struct mz_addr_predict *pl, uint64_t size);

/* The inverse, for the decoder: the address. 0, -ENOMEM, or -EBADMSG. */
int mz_addr_predict_find(struct mz_addr_predict *pl, struct mz_room fit, uint64_t old,
			 const struct mz_predicted *place, uint64_t *addr);
/* A block of size (0: unknown) at addr was freed. */
int mz_addr_predict_gone(struct mz_addr_predict *pl, uint64_t size, uint64_t addr);
/* The same by its class (0: unknown). */
int mz_addr_predict_left(struct mz_addr_predict *pl, uint32_t class, uint64_t addr);

#endif
