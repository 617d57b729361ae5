/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of the container: docs/format.md in C. */
#ifndef MZ_TRACE_WIRE_H
#define MZ_TRACE_WIRE_H

#include <memorizer.h>
#include <string.h>

#include "base/buf.h"

/* File header: magic, major, minor, 0, required, optional features, crc. */
#define MZ_WIRE_MAGIC	    "\x80MZT\r\n\x1a\n"
#define MZ_WIRE_MAGIC_SIZE  8
#define MZ_WIRE_HEADER_SIZE 36
#define MZ_WIRE_MAJOR	    2
#define MZ_WIRE_MINOR	    2

/* Features without which a file cannot be read. */
#define MZ_WIRE_NEEDS_NONE 0ull

/* Block frame: magic, type, 0, 0, length, crc of the payload, crc of the frame. */
#define MZ_WIRE_BLOCK_MAGIC "MZb\x1a"
#define MZ_WIRE_FRAME_SIZE  20

/* Trailer: offset of the index block, crc of that, magic. */
#define MZ_WIRE_END_MAGIC    "MZe\x1a"
#define MZ_WIRE_TRAILER_SIZE 16

enum mz_block_type {
	MZ_BLOCK_EVENTS = 1,
	MZ_BLOCK_STRINGS = 2,
	MZ_BLOCK_STACKS = 3, /* of version 2.0 */
	MZ_BLOCK_ATTRS = 4,
	MZ_BLOCK_INDEX = 5,
	MZ_BLOCK_TREE = 6,	  /* of version 2.1 */
	MZ_BLOCK_CHAINS = 7,	  /* stacks */
	MZ_BLOCK_OPTIONAL = 0x80, /* a reader that does not know it skips it */
};

/* Limits of the format: a writer keeps them, a reader refuses more. */
#define MZ_WIRE_MAX_EVENTS  (1u << 18) /* in a block */
#define MZ_WIRE_MAX_PAYLOAD (1u << 26)
#define MZ_WIRE_MAX_DEPTH   4096       /* of a stack */
#define MZ_WIRE_MAX_FRAMES  (1u << 21) /* of the stacks of a block */
#define MZ_WIRE_MAX_STRING  (1u << 20)

uint32_t mz_crc32c(uint32_t crc, const void *data, size_t n);
uint32_t mz_crc32c_by_table(uint32_t crc, const void *data, size_t n); /* on any machine */

/* ---- little-endian and variable-length numbers -------------------------- */

static inline void mz_put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline void mz_put64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint32_t mz_get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t mz_get64(const uint8_t *p)
{
	return mz_get32(p) | (uint64_t)mz_get32(p + 4) << 32;
}

/* Signed numbers near 0 as unsigned ones near 0: 0, -1, 1, -2, ... */
static inline uint64_t mz_zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t) - (int64_t)(v >> 63);
}

static inline uint64_t mz_unzigzag(uint64_t v)
{
	return v >> 1 ^ (uint64_t) - (int64_t)(v & 1);
}

#define MZ_NUMBER_MAX 10 /* bytes of a number at most */

static inline void mz_buf_number(struct mz_buf *b, uint64_t v)
{
	char *p;

	if (!mz_buf_room(b, MZ_NUMBER_MAX))
		return;
	p = b->data + b->len;
	for (; v > 0x7f; v >>= 7)
		*p++ = (char)(v | 0x80);
	*p++ = (char)v;
	b->len = (size_t)(p - b->data);
}

/* Bounded bytes to parse; bad is sticky, what is read after it is 0. */
struct mz_bytes {
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
};

static inline struct mz_bytes mz_bytes_of(const struct mz_buf *b)
{
	const uint8_t *p = (const uint8_t *)b->data;

	return (struct mz_bytes){.p = p, .end = p ? p + b->len : NULL};
}

static inline uint64_t mz_bytes_number(struct mz_bytes *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (b->bad || b->p == b->end || (shift == 63 && *b->p > 1))
			break;
		v |= (uint64_t)(*b->p & 0x7f) << shift;
		if (!(*b->p++ & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

/* A number of at most max; more is bad. */
static inline uint64_t mz_bytes_upto(struct mz_bytes *b, uint64_t max)
{
	uint64_t v = mz_bytes_number(b);

	if (v <= max)
		return v;
	b->bad = true;
	return 0;
}

static inline const uint8_t *mz_bytes_take(struct mz_bytes *b, size_t n)
{
	const uint8_t *p = b->p;

	if (b->bad || n > (size_t)(b->end - b->p)) {
		b->bad = true;
		return NULL;
	}
	b->p += n;
	return p;
}

#endif
