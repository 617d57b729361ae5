// SPDX-License-Identifier: BSD-2-Clause
/* The text reader: whatever the bytes, it ends with events or an error; the fast
 * parser reads as the full one does; an event survives being written. */
#include "base/input.h"
#include "formats/text_fast.h"
#include "tests/fuzz/fuzz.h"

static void lines(const uint8_t *data, size_t size)
{
	struct mz_tables *tables = mz_tables_new();
	struct mz_error err = {0};
	struct mz_input in;
	int ret;

	MUST(tables && !mz_input_memory(&in, data, size, "fuzz", &err));
	for (;;) {
		struct mz_event ev, full;
		struct mz_text_line info, other;

		ret = mz_text_next(&in, tables, &ev, &info, &err);
		if (ret <= 0)
			break;
		if (ret != MZ_TEXT_EVENT)
			continue;
		MUST(mz_text_parse(info.line, info.len, &full, &other, tables, &err) == 1);
		MUST(!memcmp(&ev, &full, sizeof(ev)));
		MUST(info.tag == other.tag && info.old_tag == other.old_tag);
		must_survive_text(&ev, tables);
	}
	if (ret < 0)
		must_explain(&err, ret);
	mz_input_close(&in);
	mz_tables_free(tables);
}

static void reader(const uint8_t *data, size_t size)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open_memory(data, size, "fuzz", &err);
	struct mz_event ev[16];
	long n;

	if (!r) {
		must_explain(&err, -err.code);
		return;
	}
	while ((n = mz_reader_read(r, ev, 16)) > 0)
		for (long i = 0; i < n; i++)
			MUST(ev[i].kind > MZ_NONE && ev[i].kind < MZ_KINDS);
	if (n < 0) {
		must_explain(mz_reader_error(r), n);
		MUST(mz_reader_read(r, ev, 16) == n);
	}
	mz_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lines(data, size);
	reader(data, size);
	return 0;
}
