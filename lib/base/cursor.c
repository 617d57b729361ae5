// SPDX-License-Identifier: BSD-2-Clause
/* Read words and numbers from a bounded line. */
#include "base/cursor.h"

#include <string.h>

const uint8_t mz_hex_value[256] = {
	['0'] = 1, 2,  3,  4,  5,  6,	       7,  8,  9,  10, ['a'] = 11,
	12,	   13, 14, 15, 16, ['A'] = 11, 12, 13, 14, 15, 16,
};

/* A word is everything up to the next blank; at the end of the line it is empty, which callers
 * treat as missing. */
struct mz_cursor mz_cursor_word(struct mz_cursor *c)
{
	struct mz_cursor word;

	mz_cursor_blanks(c);
	word.p = c->p;
	while (c->p < c->end && !mz_is_blank(*c->p))
		c->p++;
	word.end = c->p;
	return word;
}

bool mz_cursor_whole_u64(struct mz_cursor word, uint64_t *v)
{
	return mz_cursor_u64(&word, v) && word.p == word.end;
}

bool mz_cursor_whole_hex(struct mz_cursor word, uint64_t *v)
{
	return mz_cursor_hex(&word, v) && word.p == word.end;
}

bool mz_cursor_is(struct mz_cursor word, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(word.end - word.p) == n && !memcmp(word.p, text, n);
}

bool mz_cursor_skip(struct mz_cursor *c, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n))
		return false;
	c->p += n;
	return true;
}
