/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of file content. */
/*
 * A file may contain keys that were chosen to fall into one place of a table with a known hash, and
 * a table with one long chain is quadratic. So hashes depend on random numbers that each table
 * draws for itself. Nothing that is written or printed depends on them.
 */
#ifndef MZ_BASE_HASH_H
#define MZ_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define MZ_HASH_GOLDEN 0x9e3779b97f4a7c15u

/* Fills an array with random numbers. */
void mz_hash_random(uint64_t *v, size_t n);

/* Both halves of the product: every bit of the result depends on all bits of both. */
static inline uint64_t mz_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t mz_hash_bytes(const void *data, size_t n, const uint64_t seed[2]);

#endif
