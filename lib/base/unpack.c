// SPDX-License-Identifier: BSD-2-Clause
/* Decompress gzip and Zstandard streams as they are read. */
#include "base/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"

#define ROOM (256u * 1024)

/* A frame may need this much memory to be unpacked, as `zstd --long` makes them; more is refused,
 * so that a few bytes cannot require all memory. */
#define WINDOW_LOG_MAX 27

static const uint8_t gzip_magic[] = {0x1f, 0x8b};
static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct mz_unpack {
	int fd; /* -1: nothing comes after what is in buf */
	char *buf;
	size_t pos, len;
	uint64_t taken; /* packed bytes up to len */
	bool inside;	/* of a member (frame): an end here is too early */
	ZSTD_DStream *zstd;
	z_stream zlib;
	bool gzip;
};

bool mz_unpack_probe(const void *data, size_t len)
{
	return (len >= sizeof(gzip_magic) && !memcmp(data, gzip_magic, sizeof(gzip_magic))) ||
	       (len >= sizeof(zstd_magic) && !memcmp(data, zstd_magic, sizeof(zstd_magic)));
}

struct mz_unpack *mz_unpack_new(int fd, const void *head, size_t len)
{
	struct mz_unpack *u = calloc(1, sizeof(*u));
	bool ready = false;

	if (!u)
		return NULL;
	u->fd = fd;
	u->len = u->taken = len;
	u->gzip = *(const uint8_t *)head == gzip_magic[0];
	u->buf = malloc(len > ROOM ? len : ROOM);
	if (u->buf && u->gzip) {
		/* 16: a gzip header, and no other */
		ready = inflateInit2(&u->zlib, 16 + MAX_WBITS) == Z_OK;
	} else if (u->buf) {
		u->zstd = ZSTD_createDStream();
		ready = u->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(
					   u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX));
	}
	if (!ready) {
		mz_unpack_free(u);
		return NULL;
	}
	memcpy(u->buf, head, len);
	return u;
}

void mz_unpack_free(struct mz_unpack *u)
{
	if (!u)
		return;
	if (u->gzip)
		inflateEnd(&u->zlib);
	ZSTD_freeDStream(u->zstd);
	free(u->buf);
	free(u);
}

uint64_t mz_unpack_taken(const struct mz_unpack *u)
{
	return u->taken;
}

/* More packed bytes: 1, 0 at the end of the stream, -errno. */
static int more(struct mz_unpack *u, const char *name, struct mz_error *err)
{
	ssize_t n;

	if (u->fd < 0)
		return 0;
	do
		n = read(u->fd, u->buf, ROOM);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return mz_fail_offset(err, errno, u->taken, "%s: cannot read: %s", name,
				      strerror(errno));
	u->pos = 0;
	u->len = (size_t)n;
	u->taken += (uint64_t)n;
	return n > 0;
}

static int damaged(const struct mz_unpack *u, const char *name, const char *why,
		   struct mz_error *err)
{
	uint64_t at = u->taken - (u->len - u->pos);

	return mz_fail_offset(err, EINVAL, at,
			      "%s: byte %llu of the compressed file: %s; is it complete?", name,
			      (unsigned long long)at, why);
}

/* Both give how many bytes were made, or -1 with why set. */
static ssize_t step_gzip(struct mz_unpack *u, void *to, size_t max, const char **why)
{
	int ret;

	if (!u->inside && inflateReset(&u->zlib) != Z_OK) {
		*why = "zlib failed";
		return -1;
	}
	u->zlib.next_in = (Bytef *)u->buf + u->pos;
	u->zlib.avail_in = (uInt)(u->len - u->pos);
	u->zlib.next_out = to;
	u->zlib.avail_out = max > 1u << 30 ? 1u << 30 : (uInt)max;
	max = u->zlib.avail_out;
	ret = inflate(&u->zlib, Z_NO_FLUSH);
	u->pos = u->len - u->zlib.avail_in;
	u->inside = ret != Z_STREAM_END;
	if (ret == Z_OK || ret == Z_STREAM_END || ret == Z_BUF_ERROR)
		return (ssize_t)(max - u->zlib.avail_out);
	*why = u->zlib.msg ? u->zlib.msg : "not gzip data";
	return -1;
}

static ssize_t step_zstd(struct mz_unpack *u, void *to, size_t max, const char **why)
{
	ZSTD_inBuffer in = {u->buf, u->len, u->pos};
	ZSTD_outBuffer out = {to, max, 0};
	size_t ret = ZSTD_decompressStream(u->zstd, &out, &in);

	u->pos = in.pos;
	u->inside = ret != 0;
	if (!ZSTD_isError(ret))
		return (ssize_t)out.pos;
	*why = ZSTD_getErrorName(ret);
	return -1;
}

ssize_t mz_unpack_read(struct mz_unpack *u, void *to, size_t max, const char *name,
		       struct mz_error *err)
{
	for (;;) {
		const char *why = NULL;
		ssize_t n;

		if (u->pos == u->len) {
			int ret = more(u, name, err);

			if (ret < 0)
				return ret;
			if (!ret && u->inside)
				return damaged(u, name, "it ends in the middle", err);
			if (!ret)
				return 0;
		}
		n = u->gzip ? step_gzip(u, to, max, &why) : step_zstd(u, to, max, &why);
		if (n < 0)
			return damaged(u, name, why, err);
		if (n)
			return n;
	}
}
