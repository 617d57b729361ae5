// SPDX-License-Identifier: BSD-2-Clause
/* Encode protocol buffer fields. */
#include "export/proto.h"

#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"

/* The two wire types that our formats need: numbers, and everything that has a length. */
enum { TYPE_VARINT = 0, TYPE_BYTES = 2 };

/* Seven bits per byte, lowest first; the highest bit says that more follow. */
void mz_proto_varint(struct mz_buf *b, uint64_t v)
{
	mz_varint_put(b, v);
}

void mz_proto_u64(struct mz_buf *b, unsigned field, uint64_t v)
{
	/* the number of the field and the wire type share one varint */
	mz_proto_varint(b, field << 3 | TYPE_VARINT);
	mz_proto_varint(b, v);
}

void mz_proto_bytes(struct mz_buf *b, unsigned field, const void *data, size_t n)
{
	mz_proto_varint(b, field << 3 | TYPE_BYTES);
	mz_proto_varint(b, n);
	mz_buf_add(b, data, n);
}

/* Readers refuse a string that is not UTF-8, and names from a program may be any bytes. */
void mz_proto_string(struct mz_buf *b, unsigned field, const char *s)
{
	struct mz_buf text = {0};

	mz_utf8_add(&text, s, strlen(s));
	mz_proto_message(b, field, &text);
	mz_buf_free(&text);
}

/* The length precedes the message, so it is built in a buffer of its own, which is then empty for
 * the next one. */
void mz_proto_message(struct mz_buf *b, unsigned field, struct mz_buf *message)
{
	if (message->failed)
		b->failed = true;
	else
		mz_proto_bytes(b, field, message->data, message->len);
	message->len = 0;
}
