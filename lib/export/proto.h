/* SPDX-License-Identifier: BSD-2-Clause */
/* Protocol buffers, the writing half: a field is its number, its type, its value. */
#ifndef MZ_EXPORT_PROTO_H
#define MZ_EXPORT_PROTO_H

#include "base/buf.h"

void mz_proto_varint(struct mz_buf *b, uint64_t v); /* a number by itself, as in a packed list */
void mz_proto_u64(struct mz_buf *b, unsigned field, uint64_t v);
void mz_proto_bytes(struct mz_buf *b, unsigned field, const void *data, size_t n);
/* Readers refuse a string that is not UTF-8: invalid bytes are replaced. */
void mz_proto_string(struct mz_buf *b, unsigned field, const char *s);
/* Writes a message (or a packed list) as a field and empties it for the next one. */
void mz_proto_message(struct mz_buf *b, unsigned field, struct mz_buf *message);

#endif
