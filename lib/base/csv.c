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

/* A spreadsheet runs a cell that begins with one of these characters. The apostrophe in front is
 * its own sign for a text, and mz_csv_plain() takes it off again. */
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

size_t mz_csv_split(const char *p, size_t len, char *room, char **cells, size_t max)
{
	const char *end = p + len;
	size_t n = 0;

	/* the cells end with NUL, so a NUL inside would cut one short */
	if (memchr(p, 0, len))
		return 0;
	for (;;) {
		bool quoted = p < end && *p == '"';

		if (n == max)
			return 0;
		cells[n++] = room;
		for (p += quoted; p < end && (quoted || *p != ','); p++) {
			if (quoted && *p == '"' && !(p + 1 < end && p[1] == '"'))
				break;
			p += quoted && *p == '"';
			*room++ = *p;
		}
		*room++ = '\0';
		if (quoted && (p == end || (++p < end && *p != ',')))
			return 0;
		if (p == end)
			return n;
		p++;
	}
}

const char *mz_csv_plain(const char *cell)
{
	return cell[0] == '\'' && cell[1] && strchr("=+-@\t\r", cell[1]) ? cell + 1 : cell;
}
