// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the reader of dtrace logs. */
#include "tests/fuzz/logs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_dtrace dtrace;

	mz_dtrace_init(&dtrace);
	read_log(data, size, &dtrace);
	return 0;
}
