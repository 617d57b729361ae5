// SPDX-License-Identifier: BSD-2-Clause
/* Escape characters that a terminal would obey instead of showing. */
#include "base/terminal.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Marks, embeddings, overrides and isolates of direction; separators of lines. */
static const struct {
	uint32_t first, last;
} unseen[] = {{0x80, 0x9f},	{0x61c, 0x61c},	  {0x200e, 0x200f},
	      {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfff9, 0xfffb}};

static uint32_t code_point(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	switch (len) {
	case 2: return (p[0] & 0x1fu) << 6 | (p[1] & 0x3f);
	case 3: return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3f);
	default: return p[0];
	}
}

static bool is_shown(const char *s, size_t len, bool lines)
{
	uint32_t c = code_point(s, len);

	if (len == 1)
		return (c >= 0x20 && c < 0x7f) || (lines && (c == '\n' || c == '\t'));
	for (size_t i = 0; len < 4 && i < sizeof(unseen) / sizeof(*unseen); i++)
		if (c >= unseen[i].first && c <= unseen[i].last)
			return false;
	return true;
}

/* Bytes that the character at s should have, by its first one. */
static size_t wanted(const char *s)
{
	unsigned char c = (unsigned char)*s;

	return c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
}

size_t mz_terminal_add(struct mz_buf *b, const char *s, size_t n, bool lines, bool more)
{
	size_t i = 0;

	while (i < n) {
		size_t len = mz_utf8_length(s + i, n - i);

		if (!len && more && wanted(s + i) > n - i)
			break;
		if (len && is_shown(s + i, len, lines)) {
			mz_buf_add(b, s + i, len);
		} else {
			for (size_t k = 0; k < (len ? len : 1); k++)
				mz_buf_printf(b, "\\x%02x", (unsigned char)s[i + k]);
		}
		i += len ? len : 1;
	}
	return i;
}
