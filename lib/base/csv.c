// SPDX-License-Identifier: BSD-2-Clause
/* Write a text as a cell of CSV that no spreadsheet runs. */
#include "base/csv.h"

#include <string.h>

static bool holds_any(const char *s, size_t n, const char *set)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] && strchr(set, s[i]))
			return true;
	return false;
}

void mz_csv_add(struct mz_buf *b, const char *s, size_t n)
{
	bool formula = n && holds_any(s, 1, "=+-@\t\r");

	if (!formula && !holds_any(s, n, ",\"\r\n")) {
		mz_buf_add(b, s, n);
		return;
	}
	mz_buf_str(b, formula ? "\"'" : "\"");
	for (size_t i = 0; i < n; i++)
		mz_buf_add(b, s[i] == '"' ? "\"\"" : &s[i], s[i] == '"' ? 2 : 1);
	mz_buf_str(b, "\"");
}
