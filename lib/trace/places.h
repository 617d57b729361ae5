/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an allocator puts the next block: a guess that is mostly right. */
#ifndef MZ_TRACE_PLACES_H
#define MZ_TRACE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct mz_places;

struct mz_places *mz_places_new(void);
void mz_places_free(struct mz_places *pl);
void mz_places_reset(struct mz_places *pl);

/* How the address is told. */
struct mz_place {
	uint32_t how;	/* 0: by delta */
	uint64_t delta; /* zigzag, from the address that how guesses first */
};

/* A new block of size came to addr, in exchange for the block at old (0: none). */
int mz_places_tell(struct mz_places *pl, uint64_t size, uint64_t old, uint64_t addr,
		   struct mz_place *place);
/* The inverse: the address. 0, -ENOMEM, or -EBADMSG. */
int mz_places_find(struct mz_places *pl, uint64_t size, uint64_t old, const struct mz_place *place,
		   uint64_t *addr);
/* A block of size (0: unknown) went from addr. */
int mz_places_gone(struct mz_places *pl, uint64_t size, uint64_t addr);

#endif
