// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/logs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_log(data, size, NULL);
	return 0;
}
