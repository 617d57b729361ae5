/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys of two numbers get dense numbers: 0 for the first new one, 1 for the next.
 * What is known about a key stands in the caller's array at that number.
 */
#ifndef MZ_BASE_KEYS_H
#define MZ_BASE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MZ_KEYS_NONE UINT32_MAX

struct mz_key {
	uint64_t a, b;
};

struct mz_keys {
	struct mz_key *keys; /* by number */
	uint64_t *slots;     /* 0 = free; else a part of the hash, and number + 1 */
	size_t count, cap, mask;
};

void mz_keys_deinit(struct mz_keys *ix);
/* Without keys, and ready for new ones. */
void mz_keys_clear(struct mz_keys *ix);

/* The number of the key; a new one if it is not there. MZ_KEYS_NONE: no memory. */
uint32_t mz_keys_put(struct mz_keys *ix, uint64_t a, uint64_t b);
/* MZ_KEYS_NONE: it is not there. */
uint32_t mz_keys_get(const struct mz_keys *ix, uint64_t a, uint64_t b);

/*
 * In a table that is larger than the caches each look-up waits for memory. Who has many
 * to make asks for their slots first, then for what the slots point to, and only then
 * looks: the waits overlap. expect() gives the likely number of the key, or NONE.
 */
void mz_keys_ask(const struct mz_keys *ix, uint64_t a, uint64_t b);
uint32_t mz_keys_expect(const struct mz_keys *ix, uint64_t a, uint64_t b);

/* Makes room for a member with number `at` in an array of members of `size` bytes
 * and sets it to zeros if it is new. *cap goes along. False: no memory. */
bool mz_keys_room(void **array, size_t *cap, size_t at, size_t size);

#endif
