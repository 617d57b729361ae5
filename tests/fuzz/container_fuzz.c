// SPDX-License-Identifier: BSD-2-Clause
/* The whole reader: blocks, index, tables, lanes. Checksums are made right, so
 * that what is behind them is met. */
#include "tests/fuzz/fuzz.h"
#include "trace/block.h"
#include "trace/container.h"

/* Frames where they should be; the last 16 bytes point to the last of them. */
static uint64_t mend(uint8_t *p, size_t size)
{
	size_t at = MZ_WIRE_HEADER_SIZE, last = 0;

	mz_put32(p + 32, mz_crc32c(0, p, 32));
	while (at + MZ_WIRE_FRAME_SIZE <= size) {
		uint32_t n = mz_get32(p + at + 8);

		if (n > size - at - MZ_WIRE_FRAME_SIZE)
			break;
		memcpy(p + at, MZ_WIRE_BLOCK_MAGIC, 4);
		mz_put32(p + at + 12, mz_crc32c(0, p + at + MZ_WIRE_FRAME_SIZE, n));
		mz_put32(p + at + 16, mz_crc32c(0, p + at, 16));
		last = at;
		at += MZ_WIRE_FRAME_SIZE + n;
	}
	return last;
}

static void read_all(const uint8_t *data, size_t size, unsigned how)
{
	struct mz_select select = {.object = how & 1 ? 3 : 0, .time_from = how & 2 ? 1000 : 0};
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open_memory(data, size, "fuzz", &err);
	struct mz_event ev[100];
	struct mz_summary s = {.size = sizeof(s)};
	uint64_t total = 0;
	long n;

	if (!r) {
		must_explain(&err, -err.code);
		return;
	}
	MUST(mz_reader_format(r) == MZ_FORMAT_CONTAINER);
	MUST(!mz_reader_summary(r, &s) && s.end <= size);
	for (size_t i = 0; i < mz_reader_attrs(r); i++)
		MUST(mz_reader_find_attr(r, mz_reader_attr(r, i)->key));
	if (how & 3)
		mz_reader_select(r, &select);
	while ((n = mz_reader_read(r, ev, 100)) > 0) {
		total += (uint64_t)n;
		if (total > 2000000)
			break;
		for (long i = 0; i < n; i++)
			MUST(ev[i].kind && ev[i].kind < MZ_KINDS && ev[i].call < MZ_CALLS);
	}
	if (n < 0)
		must_explain(mz_reader_error(r), n);
	mz_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p;
	uint64_t last;

	if (size < MZ_WIRE_HEADER_SIZE + 1)
		return 0;
	p = malloc(size);
	MUST(p);
	memcpy(p, data, size);
	memcpy(p, MZ_WIRE_MAGIC, MZ_WIRE_MAGIC_SIZE);
	read_all(p, size, 0); /* as it is: the header is wrong, or a checksum */
	if (p[20] & 1)
		memset(p + 8, 0, 24);
	p[8] = MZ_WIRE_MAJOR;
	last = mend(p, size);
	if (last && size - last > MZ_WIRE_FRAME_SIZE + MZ_WIRE_TRAILER_SIZE) {
		mz_trailer_put(p + size - MZ_WIRE_TRAILER_SIZE, last);
		mend(p, size - MZ_WIRE_TRAILER_SIZE);
	}
	read_all(p, size, data[size - 1]);
	free(p);
	return 0;
}
