// SPDX-License-Identifier: BSD-2-Clause
/* Copy text as valid UTF-8 and replace invalid bytes. */
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

static bool follows(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t mz_utf8_length(const char *s, size_t n)
{
	unsigned char c = (unsigned char)*s, d = n > 1 ? (unsigned char)s[1] : 0;
	size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (!len || len > n || !follows(s, len))
		return 0;
	/* longer than needed, a half of a surrogate pair, over U+10FFFF */
	if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
	    (c == 0xf4 && d > 0x8f))
		return 0;
	return len;
}

void mz_utf8_add(struct mz_buf *b, const char *s, size_t n)
{
	while (n) {
		size_t len = *s ? mz_utf8_length(s, n) : 0;

		if (len)
			mz_buf_add(b, s, len);
		else
			mz_buf_str(b, REPLACEMENT);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
}
