// SPDX-License-Identifier: BSD-2-Clause
/* Parse malloc, realloc and free lines in their usual form, eight characters at a time. */
#include "formats/text_fast.h"

#include <endian.h>
#include <string.h>

#include "trace/event.h"

#define ONES 0x0101010101010101u
#define TOPS 0x8080808080808080u

/* The verbs with their parenthesis, as peek8() reads them. */
#define FREE	0x2865657266u
#define MALLOC	0x28636f6c6c616du
#define REALLOC 0x28636f6c6c616572u

/* The next 8 characters, the first in the lowest byte. */
static inline uint64_t peek8(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

/* How many of the 8 characters, from the first on, are hexadecimal digits. The top bit is set in
 * every byte that is not one. */
static inline unsigned hex_digits(uint64_t w)
{
	uint64_t digit = (w ^ 0x30 * ONES) + 0x76 * ONES;
	uint64_t letter = (w | 0x20 * ONES) ^ 0x60 * ONES;
	uint64_t above = letter + 0x79 * ONES, zero = letter + 0x7f * ONES;
	uint64_t none = (digit & (above | ~zero)) | w;

	none &= TOPS;
	return none ? (unsigned)__builtin_ctzll(none) / 8 : 8;
}

/* Move the first n characters (0 to 8) of w to the end, with zeros before them, as the digits of a
 * number. */
static inline uint64_t align_right(uint64_t w, unsigned n)
{
	return n ? w << (8 - n) * 8 : 0;
}

static inline uint64_t hex_value(uint64_t w, unsigned n)
{
	uint64_t v = align_right((w & 0x0f * ONES) + 9 * (w >> 6 & ONES), n);

	v = (v << 4 | v >> 8) & 0x00ff00ff00ff00ffu;
	v = (v << 8 | v >> 16) & 0x0000ffff0000ffffu;
	return (v << 16 | v >> 32) & 0xffffffffu;
}

static inline unsigned decimal_digits(uint64_t w)
{
	uint64_t none = (((w ^ 0x30 * ONES) + 0x76 * ONES) | w) & TOPS;

	return none ? (unsigned)__builtin_ctzll(none) / 8 : 8;
}

static inline uint64_t decimal_value(uint64_t w, unsigned n)
{
	uint64_t v = align_right(w & 0x0f * ONES, n);

	v = (v * 10 + (v >> 8)) & 0x00ff00ff00ff00ffu;
	v = (v * 100 + (v >> 16)) & 0x0000ffff0000ffffu;
	return (v * 10000 + (v >> 32)) & 0xffffffffu;
}

/* Each of these returns what follows, or NULL. */

static inline __attribute__((always_inline)) const char *take_hex(const char *p, uint64_t *out)
{
	uint64_t w = peek8(p), v;
	unsigned n;

	if ((w & 0xffff) == ('0' | 'x' << 8)) {
		p += 2;
		w = peek8(p);
	}
	n = hex_digits(w);
	if (!n)
		return NULL;
	v = hex_value(w, n);
	p += n;
	if (n == 8) {
		w = peek8(p);
		n = hex_digits(w);
		if (n == 8)
			return NULL; /* 16 digits or more: rare, and may be too many */
		v = v << (4 * n) | hex_value(w, n);
		p += n;
	}
	*out = v;
	return p;
}

static inline const char *take_decimal(const char *p, uint64_t *out)
{
	uint64_t w = peek8(p), v;
	unsigned n = decimal_digits(w), d;

	/* no branch on the number of digits: it cannot be predicted */
	if (n - 1 < 7) {
		*out = decimal_value(w, n);
		return p + n;
	}
	if (!n)
		return NULL;
	for (n = 0, v = 0; n < 20 && (d = (unsigned)(unsigned char)p[n] - '0') <= 9; n++)
		v = v * 10 + d;
	*out = v;
	return n < 20 ? p + n : NULL;
}

static inline __attribute__((always_inline)) const char *take_pointer(const char *p, uint64_t *addr,
								      uint64_t *tag)
{
	p = take_hex(p, addr);
	if (p && *p == '<') {
		p = take_decimal(p + 1, tag);
		if (p)
			p = *p == '>' ? p + 1 : NULL;
	}
	return p;
}

static inline const char *take_size(const char *p, struct mz_event *ev, struct mz_text_line *info)
{
	info->size = p;
	p = take_decimal(p, &ev->size);
	if (p)
		info->size_len = (size_t)(p - info->size);
	return p;
}

/* "SIZE) = PTR" */
static inline const char *take_size_result(const char *p, struct mz_event *ev,
					   struct mz_text_line *info)
{
	p = take_size(p, ev, info);
	if (!p || (peek8(p) & 0xffffffffu) != (')' | ' ' << 8 | '=' << 16 | ' ' << 24))
		return NULL;
	return take_pointer(p + 4, &ev->addr, &info->tag);
}

static inline void begin(struct mz_event *ev, enum mz_kind kind, enum mz_call call)
{
	mz_event_clear(ev);
	ev->has = MZ_HAS_ADDR;
	ev->kind = (uint8_t)kind;
	ev->call = (uint8_t)call;
}

const char *mz_text_parse_fast(const char *p, struct mz_event *ev, struct mz_text_line *info)
{
	uint64_t w = peek8(p);

	*info = (struct mz_text_line){0};
	if ((w & 0xffffffffffu) == FREE) {
		begin(ev, MZ_FREE, MZ_CALL_FREE);
		p = take_pointer(p + 5, &ev->addr, &info->tag);
		if (p)
			p = *p == ')' ? p + 1 : NULL;
	} else if ((w & 0x00ffffffffffffffu) == MALLOC) {
		begin(ev, MZ_ALLOC, MZ_CALL_MALLOC);
		p = take_size_result(p + 7, ev, info);
	} else if (w == REALLOC) {
		begin(ev, MZ_REALLOC, MZ_CALL_REALLOC);
		p = take_pointer(p + 8, &ev->old_addr, &info->old_tag);
		if (p)
			p = p[0] == ',' && p[1] == ' ' ? take_size_result(p + 2, ev, info) : NULL;
	} else {
		return NULL;
	}
	return p && *p == '\n' ? p : NULL;
}
