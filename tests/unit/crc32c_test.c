// SPDX-License-Identifier: BSD-2-Clause
/* Compare CRC-32C with its definition, bit by bit, for every implementation that the machine
 * has. */
#include "tests/unit/test.h"
#include "trace/wire.h"

static uint32_t by_definition(uint32_t crc, const uint8_t *p, size_t n)
{
	crc = ~crc;
	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return ~crc;
}

static void known_sum(void)
{
	CHECK_EQ(mz_crc32c(0, "123456789", 9), 0xe3069283u);
	CHECK_EQ(mz_crc32c_by_table(0, "123456789", 9), 0xe3069283u);
	CHECK_EQ(mz_crc32c(0, "", 0), 0);
}

static void every_length_and_place(void)
{
	uint8_t data[96];
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
	for (size_t from = 0; from < 9; from++)
		for (size_t n = 0; n + from <= sizeof(data); n++) {
			uint32_t want = by_definition(x, data + from, n);

			CHECK_EQ(mz_crc32c(x, data + from, n), want);
			CHECK_EQ(mz_crc32c_by_table(x, data + from, n), want);
			/* in two parts */
			CHECK_EQ(mz_crc32c(mz_crc32c(x, data + from, n / 3), data + from + n / 3,
					   n - n / 3),
				 want);
		}
}

int main(void)
{
	RUN(known_sum);
	RUN(every_length_and_place);
	return test_end();
}
