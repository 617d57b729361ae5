// SPDX-License-Identifier: BSD-2-Clause
/* Columns come back as they were, and long ones are packed in the way that suits them. */
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "test.h"
#include "trace/codec.h"

#define LONG 100000u /* numbers: more than are tried */

/* Packs and unpacks them; returns the packed length. */
static size_t there_and_back(const uint64_t *v, uint32_t n, int level, bool repeats)
{
	struct mz_packer pack = {.level = level}, unpack = {0};
	struct mz_pack_how how = {.codec = MZ_CODEC_LOG, .repeats = repeats};
	struct mz_codec_column back = {0};
	struct mz_buf out = {0};
	struct mz_bytes in;
	size_t len;

	CHECK(!mz_codec_column_pack(&pack, v, n, &how, &out));
	in = mz_bytes_of(&out);
	CHECK(!mz_codec_column_unpack(&unpack, &in, n, false, NULL, 0, &back));
	CHECK(in.p == in.end);
	CHECK_EQ(back.n, n);
	CHECK(back.n == n && !memcmp(back.v, v, n * sizeof(*v)));
	len = out.len;
	mz_codec_column_free(&back);
	mz_buf_free(&out);
	mz_packer_deinit(&pack);
	mz_packer_deinit(&unpack);
	return len;
}

/* Numbers of each magnitude, after others of each: their bits begin anywhere in a word. */
static void bits_of_all_magnitudes(void)
{
	static uint64_t v[64 * 64 * 4];
	uint64_t seed = 1;
	uint32_t n = 0;

	for (unsigned a = 0; a < 64; a++)
		for (unsigned b = 0; b < 64; b++) {
			v[n++] = 1ull << a | (random_next(&seed) & ((1ull << a) - 1));
			v[n++] = (1ull << b) - 1;
			v[n++] = 1ull << b;
			v[n++] = UINT64_MAX >> (63 - b);
		}
	for (uint32_t k = 1; k < 200; k++)
		there_and_back(v, k, 1, false);
	there_and_back(v, n, 1, false);
	there_and_back(v, n, 6, true);
}

/* At the lowest level a part of the column decides. */
static void repeats_are_found(void)
{
	uint64_t *v = malloc(LONG * sizeof(*v)), seed = 2;

	CHECK(v);
	for (uint32_t i = 0; v && i < LONG; i++)
		v[i] = i < 501 ? random_below(&seed, 1ull << 40) : v[i - 501];
	if (v) {
		CHECK(there_and_back(v, LONG, 1, true) < LONG / 20);
		CHECK(there_and_back(v, LONG, 1, true) < there_and_back(v, LONG, 1, false));
	}
	free(v);
}

/* Noise takes its bits, and a level that saves time takes no more room for it. */
static void noise_takes_its_bits(void)
{
	uint64_t *v = malloc(LONG * sizeof(*v)), seed = 3;

	CHECK(v);
	for (uint32_t i = 0; v && i < LONG; i++)
		v[i] = random_below(&seed, 1u << 20);
	if (v) {
		CHECK(there_and_back(v, LONG, 1, true) < LONG * 20 / 8 * 102 / 100);
		CHECK(there_and_back(v, LONG, 1, true) <= there_and_back(v, LONG, 6, false));
	}
	free(v);
}

int main(void)
{
	RUN(bits_of_all_magnitudes);
	RUN(repeats_are_found);
	RUN(noise_takes_its_bits);
	return test_end();
}
