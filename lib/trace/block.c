// SPDX-License-Identifier: BSD-2-Clause
/* Read and write the framed, checksummed blocks of a container. */
#include "trace/block.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

/* ---- the file ----------------------------------------------------------- */

void mz_file_header_put(uint8_t out[MZ_WIRE_HEADER_SIZE])
{
	memset(out, 0, MZ_WIRE_HEADER_SIZE);
	memcpy(out, MZ_WIRE_MAGIC, MZ_WIRE_MAGIC_SIZE);
	out[8] = MZ_WIRE_MAJOR;
	out[10] = MZ_WIRE_MINOR;
	mz_put64(out + 16, MZ_WIRE_NEEDS_NONE);
	mz_put32(out + 32, mz_crc32c(0, out, 32));
}

/* The checksum is tested first: a damaged header must not be reported as that of a newer
 * version. */
int mz_file_header_check(const uint8_t in[MZ_WIRE_HEADER_SIZE], const char *name,
			 struct mz_error *err)
{
	unsigned major = in[8] | in[9] << 8;
	uint64_t needs = mz_get64(in + 16);

	if (mz_get32(in + 32) != mz_crc32c(0, in, 32))
		return mz_fail_offset(err, EBADMSG, 0, "%s: byte 0: the file header is damaged",
				      name);
	if (major != MZ_WIRE_MAJOR)
		return mz_fail_offset(
			err, ENOTSUP, 8,
			"%s: a container of version %u, which needs a newer memorizer "
			"(this one reads version %d)",
			name, major, MZ_WIRE_MAJOR);
	if (needs)
		return mz_fail_offset(
			err, ENOTSUP, 16,
			"%s: it needs features 0x%llx, which this memorizer lacks; use a "
			"newer one",
			name, (unsigned long long)needs);
	return 0;
}

/* ---- frames ------------------------------------------------------------- */

void mz_block_frame_put(uint8_t out[MZ_WIRE_FRAME_SIZE], uint8_t type, const void *payload,
			size_t size)
{
	memcpy(out, MZ_WIRE_BLOCK_MAGIC, 4);
	mz_put32(out + 4, type);
	mz_put32(out + 8, (uint32_t)size);
	mz_put32(out + 12, mz_crc32c(0, payload, size));
	mz_put32(out + 16, mz_crc32c(0, out, 16));
}

/* A frame carries its own checksum, so that a scan of a damaged file does not take data that
 * looks like a frame for one. */
bool mz_block_frame_get(const uint8_t in[MZ_WIRE_FRAME_SIZE], struct mz_block_frame *frame)
{
	if (memcmp(in, MZ_WIRE_BLOCK_MAGIC, 4) || mz_get32(in + 16) != mz_crc32c(0, in, 16))
		return false;
	frame->type = in[4];
	frame->size = mz_get32(in + 8);
	frame->crc = mz_get32(in + 12);
	return frame->size <= MZ_WIRE_MAX_PAYLOAD;
}

void mz_trailer_put(uint8_t out[MZ_WIRE_TRAILER_SIZE], uint64_t index)
{
	mz_put64(out, index);
	mz_put32(out + 8, mz_crc32c(0, out, 8));
	memcpy(out + 12, MZ_WIRE_END_MAGIC, 4);
}

bool mz_trailer_get(const uint8_t in[MZ_WIRE_TRAILER_SIZE], uint64_t *index)
{
	*index = mz_get64(in);
	return !memcmp(in + 12, MZ_WIRE_END_MAGIC, 4) && mz_get32(in + 8) == mz_crc32c(0, in, 8);
}

/* ---- the index ---------------------------------------------------------- */

void mz_index_deinit(struct mz_index *x)
{
	free(x->v);
	*x = (struct mz_index){0};
}

int mz_index_add(struct mz_index *x, const struct mz_index_entry *entry)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 64;
		struct mz_index_entry *v = realloc(x->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		x->v = v;
		x->cap = cap;
	}
	x->v[x->n++] = *entry;
	return 0;
}

/* Offsets are stored as gaps after the previous block, which are nearly always 0 and take one
 * byte. */
int mz_index_put(const struct mz_index *x, struct mz_packer *pk, struct mz_buf *out)
{
	uint64_t at = MZ_WIRE_HEADER_SIZE;
	struct mz_buf b = {0};
	int ret;

	mz_buf_number(&b, x->has_produced);
	mz_buf_number(&b, x->produced);
	mz_buf_number(&b, x->n);
	for (size_t i = 0; i < x->n; i++) {
		const struct mz_index_entry *e = &x->v[i];

		mz_buf_number(&b, e->type);
		mz_buf_number(&b, e->offset - at);
		mz_buf_number(&b, e->size);
		if (e->type == MZ_BLOCK_EVENTS)
			mz_chunk_info_put(&e->info, &b);
		at = e->offset + MZ_WIRE_FRAME_SIZE + e->size;
	}
	ret = b.failed ? -ENOMEM : mz_bytes_pack(pk, b.data, b.len, out);
	mz_buf_free(&b);
	return ret;
}

/* The number of entries is bounded by the frames that the file has room for: a forged count,
 * which packs to nothing, cannot allocate more than the file could describe. */
static int get_entries(struct mz_index *x, struct mz_bytes *in, uint64_t most)
{
	uint64_t at = MZ_WIRE_HEADER_SIZE, n;

	x->has_produced = mz_bytes_upto(in, 1);
	x->produced = mz_bytes_number(in);
	n = mz_bytes_upto(in, most);
	while (n-- && !in->bad) {
		struct mz_index_entry e = {0};
		uint64_t gap;

		e.type = (uint8_t)mz_bytes_upto(in, 255);
		gap = mz_bytes_number(in);
		e.size = (uint32_t)mz_bytes_upto(in, MZ_WIRE_MAX_PAYLOAD);
		if (gap > INT64_MAX || at > INT64_MAX)
			return -EBADMSG;
		e.offset = at + gap;
		at = e.offset + MZ_WIRE_FRAME_SIZE + e.size;
		if (e.type == MZ_BLOCK_EVENTS)
			mz_chunk_info_get(in, &e.info);
		if (!in->bad && mz_index_add(x, &e) < 0)
			return -ENOMEM;
	}
	return in->bad || in->p != in->end ? -EBADMSG : 0;
}

/* The longest entry, however many causes of loss a later version knows. */
#define MAX_ENTRY 1024

int mz_index_get(struct mz_index *x, struct mz_packer *pk, const void *payload, size_t size,
		 uint64_t most)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size}, body;
	struct mz_buf b = {0};
	uint64_t room = (most + 1) * MAX_ENTRY;
	int ret = mz_bytes_unpack(pk, &in, room < MZ_WIRE_MAX_PAYLOAD ? room : MZ_WIRE_MAX_PAYLOAD,
				  &b);

	if (!ret && in.p != in.end)
		ret = -EBADMSG;
	if (!ret) {
		body = mz_bytes_of(&b);
		ret = get_entries(x, &body, most);
	}
	mz_buf_free(&b);
	if (ret < 0)
		mz_index_deinit(x);
	return ret;
}
