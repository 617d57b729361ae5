// SPDX-License-Identifier: BSD-2-Clause
/* Draw random numbers for hash tables, and hash bytes with them. */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

void mz_hash_random(uint64_t *v, size_t n)
{
	struct timespec now;

	if (getrandom(v, n * sizeof(*v), 0) == (ssize_t)(n * sizeof(*v)))
		return;
	/* no getrandom() in this kernel or sandbox: numbers that are hard to predict must do */
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (size_t i = 0; i < n; i++)
		v[i] = mz_hash_mix((uint64_t)now.tv_nsec ^ (uintptr_t)&now,
				   (uintptr_t)v + (i + 1) * MZ_HASH_GOLDEN);
}

uint64_t mz_hash_bytes(const void *data, size_t n, const uint64_t seed[2])
{
	const char *p = data;
	uint64_t h = seed[0] ^ n, v;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = mz_hash_mix(h ^ v, seed[1]) ^ seed[0];
	}
	if (n) {
		v = 0;
		memcpy(&v, p, n);
		h = mz_hash_mix(h ^ v, seed[1]) ^ seed[0];
	}
	return mz_hash_mix(h, seed[1] ^ MZ_HASH_GOLDEN);
}
