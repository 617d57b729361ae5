// SPDX-License-Identifier: BSD-2-Clause
/* Compress output as one gzip member. */
#include "export/gzip.h"

#include <zlib.h>

#include "base/error.h"

#define GZIP_WINDOW (15 + 16)  /* the largest window, with gzip's header */
#define PIECE	    (1u << 30) /* zlib counts in 32 bits */

/* In pieces of 16 KiB, so that a large profile is never in memory twice. */
int mz_gzip_put(struct mz_output *out, const void *data, size_t n, struct mz_error *err)
{
	const unsigned char *p = data;
	unsigned char room[16384];
	z_stream z = {0};
	int ret = 0, state = Z_OK;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return mz_fail_memory(err);
	while (!ret && state != Z_STREAM_END) {
		if (!z.avail_in && n) {
			z.next_in = (unsigned char *)p;
			z.avail_in = n < PIECE ? (unsigned)n : PIECE;
			p += z.avail_in;
			n -= z.avail_in;
		}
		z.next_out = room;
		z.avail_out = sizeof(room);
		state = deflate(&z, n ? Z_NO_FLUSH : Z_FINISH);
		ret = mz_output_add(out, room, sizeof(room) - z.avail_out, err);
	}
	deflateEnd(&z);
	return ret;
}
