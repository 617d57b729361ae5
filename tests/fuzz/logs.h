/* SPDX-License-Identifier: BSD-2-Clause */
/* A log of another tool: events or an error, and each event makes a line. */
#ifndef MZ_TESTS_FUZZ_LOGS_H
#define MZ_TESTS_FUZZ_LOGS_H

#include "formats/logs.h"
#include "tests/fuzz/fuzz.h"

static inline void read_log(const uint8_t *data, size_t size, struct mz_dtrace *dtrace)
{
	struct mz_tables *tables = mz_tables_new();
	struct mz_error err = {0};
	struct mz_input in;
	struct mz_log log = {.in = &in, .dtrace = dtrace};
	struct mz_event ev;
	int ret;

	MUST(tables && !mz_input_memory(&in, data, size, "fuzz", &err));
	while ((ret = mz_log_next(&log, &ev, &err)) > 0) {
		must_survive_text(&ev, tables);
		if (!dtrace) {
			struct mz_event again;
			struct mz_text_line info;
			char line[MZ_LOG_LINE_MAX];
			size_t n = mz_kdump_format(line, &ev, true);

			MUST(n < sizeof(line));
			MUST(mz_text_parse(line, n, &again, &info, tables, &err) == 1);
			MUST(!info.junk && !memcmp(&ev, &again, sizeof(ev)));
		}
	}
	if (ret < 0)
		must_explain(&err, ret);
	mz_input_close(&in);
	mz_tables_free(tables);
}

#endif
