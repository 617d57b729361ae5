// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the reader of /proc/allocinfo. */
#include "tests/fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_sums(data, size, mz_allocinfo_read);
	return 0;
}
