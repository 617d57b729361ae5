// SPDX-License-Identifier: BSD-2-Clause
/* Recognise files that hold sums by call site and no events. */
#include "formats/sums.h"

#include <string.h>

bool mz_dhat_probe(const char *data, size_t len)
{
	static const char key[] = "\"dhatFileVersion\"";

	while (len && strchr(" \t\r\n", *data) && *data) {
		data++;
		len--;
	}
	return len && *data == '{' && memmem(data, len, key, sizeof(key) - 1);
}

bool mz_allocinfo_probe(const char *data, size_t len)
{
	static const char head[] = "allocinfo - version: ";

	return len >= sizeof(head) - 1 && !memcmp(data, head, sizeof(head) - 1);
}
