// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the reader of FreeBSD kdump logs. */
#include "tests/fuzz/logs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_log(data, size, NULL);
	return 0;
}
