// SPDX-License-Identifier: BSD-2-Clause
#include "base/scan.h"

#include <string.h>

const uint8_t mz_hex_value[256] = {
	['0'] = 1, 2,  3,  4,  5,  6,	       7,  8,  9,  10, ['a'] = 11,
	12,	   13, 14, 15, 16, ['A'] = 11, 12, 13, 14, 15, 16,
};

struct mz_scan mz_scan_word(struct mz_scan *c)
{
	struct mz_scan word;

	mz_scan_blanks(c);
	word.p = c->p;
	while (c->p < c->end && !mz_is_blank(*c->p))
		c->p++;
	word.end = c->p;
	return word;
}

bool mz_scan_whole_u64(struct mz_scan word, uint64_t *v)
{
	return mz_scan_u64(&word, v) && word.p == word.end;
}

bool mz_scan_whole_hex(struct mz_scan word, uint64_t *v)
{
	return mz_scan_hex(&word, v) && word.p == word.end;
}

bool mz_scan_is(struct mz_scan word, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(word.end - word.p) == n && !memcmp(word.p, text, n);
}

bool mz_scan_skip(struct mz_scan *c, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n))
		return false;
	c->p += n;
	return true;
}
