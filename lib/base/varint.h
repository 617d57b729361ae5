/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in groups of seven bits, the least significant first (LEB128): in the rows of stores,
 * in ClickHouse's blocks and in protocol buffers. */
#ifndef MZ_BASE_VARINT_H
#define MZ_BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

static inline void mz_varint_put(struct mz_buf *b, uint64_t v)
{
	do {
		char c = (char)((v & 127) | (v > 127 ? 128 : 0));

		mz_buf_add(b, &c, 1);
		v >>= 7;
	} while (v);
}

/* The number at *p, which is moved behind it; false: it does not end, or has over 63 bits. */
static inline bool mz_varint_get(const char **p, const char *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *p < end && shift <= 56; shift += 7) {
		unsigned char c = (unsigned char)*(*p)++;

		*v |= (uint64_t)(c & 127) << shift;
		if (!(c & 128))
			return true;
	}
	return false;
}

/* The same of bytes that were checked before, or that we made. */
static inline uint64_t mz_varint_next(const char **p)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do {
		v |= (uint64_t)(**p & 127) << shift;
		shift += 7;
	} while (*(*p)++ & 128);
	return v;
}

#endif
