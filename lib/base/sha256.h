/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 (FIPS 180-4): names for content, the same on every machine. */
#ifndef MZ_BASE_SHA256_H
#define MZ_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct mz_sha256 {
	uint32_t h[8];
	uint64_t bytes;
	unsigned char tail[64]; /* what does not fill a block yet */
};

void mz_sha256_init(struct mz_sha256 *s);
void mz_sha256_add(struct mz_sha256 *s, const void *data, size_t n);
void mz_sha256_end(struct mz_sha256 *s, unsigned char out[32]);

/* The first 8 bytes of the hash as a big-endian number. */
uint64_t mz_sha256_u64(const void *data, size_t n);

#endif
