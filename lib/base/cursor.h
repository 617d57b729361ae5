/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading words and numbers from a line that need not end with a NUL. */
#ifndef MZ_BASE_CURSOR_H
#define MZ_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mz_cursor {
	const char *p;
	const char *end;
};

/* The value of a hexadecimal digit plus one; 0 = not a digit. */
extern const uint8_t mz_hex_value[256];

static inline bool mz_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline void mz_cursor_blanks(struct mz_cursor *c)
{
	while (c->p < c->end && mz_is_blank(*c->p))
		c->p++;
}

/* A decimal number; false: none here, or over 64 bits, and nothing was taken. */
static inline bool mz_cursor_u64(struct mz_cursor *c, uint64_t *v)
{
	const char *start = c->p;
	uint64_t n = 0;

	while (c->p < c->end) {
		unsigned d = (unsigned char)*c->p - '0';

		if (d > 9)
			break;
		if (n > (UINT64_MAX - d) / 10) {
			c->p = start;
			return false;
		}
		n = n * 10 + d;
		c->p++;
	}
	*v = n;
	return c->p > start;
}

/* A hexadecimal number, with or without 0x. */
static inline bool mz_cursor_hex(struct mz_cursor *c, uint64_t *v)
{
	const char *whole = c->p, *start;
	uint64_t n = 0;

	if (c->end - c->p > 2 && c->p[0] == '0' && (c->p[1] | 0x20) == 'x')
		c->p += 2;
	start = c->p;
	while (c->p < c->end) {
		uint8_t d = mz_hex_value[(unsigned char)*c->p];

		if (!d)
			break;
		if (n >> 60) {
			c->p = whole;
			return false;
		}
		n = n << 4 | (d - 1u);
		c->p++;
	}
	*v = n;
	if (c->p > start)
		return true;
	c->p = whole;
	return false;
}

/* The next word, after blanks: what is not blank. Empty at the end. */
struct mz_cursor mz_cursor_word(struct mz_cursor *c);

/* True if the rest is a decimal (hexadecimal) number, and nothing else, that fits into 64 bits. */
bool mz_cursor_whole_u64(struct mz_cursor word, uint64_t *v);
bool mz_cursor_whole_hex(struct mz_cursor word, uint64_t *v);

bool mz_cursor_is(struct mz_cursor word, const char *text);

/* Moves over text if it is what comes next. */
bool mz_cursor_skip(struct mz_cursor *c, const char *text);

#endif
