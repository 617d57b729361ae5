// SPDX-License-Identifier: BSD-2-Clause
/* Every codec of columns on any bytes, and every codec on any numbers. */
#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "trace/codec.h"

static void unpack_any(const uint8_t *data, size_t size)
{
	struct mz_packer pk = {0};
	struct mz_codec_column c = {0};
	uint16_t context[512] = {0};
	struct mz_bytes in = {.p = data + 1, .end = data + size};

	for (unsigned i = 0; i < 512; i++)
		context[i] = (uint16_t)(i * data[0]);
	(void)mz_codec_column_unpack(&pk, &in, 512, data[0] & 1, data[0] & 2 ? context : NULL, 512,
				     &c);
	MUST(c.n <= 512);
	mz_codec_column_free(&c);
	mz_packer_deinit(&pk);
}

static void there_and_back(const uint8_t *data, size_t size)
{
	struct mz_packer pk = {.level = 9}, un = {0};
	struct mz_pack_how how = {.codec = data[0] % 3 + MZ_CODEC_PLANES,
				  .words = data[0] & 8,
				  .repeats = data[0] & 16,
				  .sparse = data[0] & 32};
	struct mz_codec_column c = {0}, back = {0};
	struct mz_buf out = {0};
	struct mz_bytes in;

	if (data[0] & 4)
		mz_packer_mix_all(&pk);
	for (size_t i = 1; i + 1 < size; i += 2) {
		/* few bytes give numbers of every magnitude */
		uint64_t v = (uint64_t)data[i]
			     << (how.codec == MZ_CODEC_SPLIT ? 0 : data[i + 1] % 57);

		mz_codec_column_add(&c, how.codec == MZ_CODEC_SPLIT ? v << 7 | data[i + 1] % 128
								    : v - (data[i + 1] >> 6));
	}
	MUST(!mz_codec_column_pack(&pk, c.v, c.n, &how, &out));
	in = (struct mz_bytes){.p = (uint8_t *)out.data, .end = (uint8_t *)out.data + out.len};
	MUST(!mz_codec_column_unpack(&un, &in, c.n, how.words, NULL, 0, &back));
	MUST(in.p == in.end && back.n == c.n && (!c.n || !memcmp(c.v, back.v, c.n * sizeof(*c.v))));
	mz_codec_column_free(&c);
	mz_codec_column_free(&back);
	mz_buf_free(&out);
	mz_packer_deinit(&pk);
	mz_packer_deinit(&un);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 128)
		unpack_any(data, size);
	else
		there_and_back(data, size);
	return 0;
}
