// SPDX-License-Identifier: BSD-2-Clause
/* Compute SHA-256. */
#include "base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2};

void mz_sha256_init(struct mz_sha256 *s)
{
	static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(s->h, h, sizeof(h));
	s->bytes = 0;
}

static uint32_t ror(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void block(uint32_t h[8], const unsigned char *p)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) +
		       (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
	}
	memcpy(v, h, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t = v[7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) +
			     ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		uint32_t u = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) +
			     ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t;
		v[0] = t + u;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

void mz_sha256_add(struct mz_sha256 *s, const void *data, size_t n)
{
	const unsigned char *p = data;
	size_t used = s->bytes % 64;

	/* nothing may come with a NULL pointer, which memcpy() does not take */
	if (!n)
		return;
	s->bytes += n;
	if (used) {
		size_t take = n < 64 - used ? n : 64 - used;

		memcpy(s->tail + used, p, take);
		p += take;
		n -= take;
		if (used + take < 64)
			return;
		block(s->h, s->tail);
	}
	for (; n >= 64; n -= 64, p += 64)
		block(s->h, p);
	if (n)
		memcpy(s->tail, p, n);
}

/* A 1, zeros, and the length in bits: to the end of a block. */
void mz_sha256_end(struct mz_sha256 *s, unsigned char out[32])
{
	unsigned char pad[72] = {0x80};
	uint64_t bits = s->bytes * 8;
	size_t n = 64 - (s->bytes + 8) % 64;

	for (int i = 0; i < 8; i++)
		pad[n + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
	mz_sha256_add(s, pad, n + 8);
	for (int i = 0; i < 32; i++)
		out[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

uint64_t mz_sha256_u64(const void *data, size_t n)
{
	struct mz_sha256 s;
	unsigned char out[32];
	uint64_t v = 0;

	mz_sha256_init(&s);
	mz_sha256_add(&s, data, n);
	mz_sha256_end(&s, out);
	for (int i = 0; i < 8; i++)
		v = v << 8 | out[i];
	return v;
}
