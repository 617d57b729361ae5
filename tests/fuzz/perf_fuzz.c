// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the reader of `perf script` output. */
#include "formats/perf.h"
#include "tests/fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (mz_perf_probe((const char *)data, size < 4096 ? size : 4096))
		read_events(data, size);
	return 0;
}
