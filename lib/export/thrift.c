// SPDX-License-Identifier: BSD-2-Clause
/* Encode Thrift's compact protocol, as Parquet needs it. */
#include "export/thrift.h"

#include <string.h>

#include "export/proto.h"

enum { TYPE_I64 = 6 };

/* Small negative numbers stay short: the sign moves to the lowest bit. */
static void zigzag(struct mz_thrift *t, int64_t v)
{
	mz_proto_varint(t->out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* A field's number is written as the difference from the previous one. */
static void head(struct mz_thrift *t, unsigned field, unsigned type)
{
	char byte = (char)((field - t->last[t->depth]) << 4 | type);

	mz_buf_add(t->out, &byte, 1);
	t->last[t->depth] = field;
}

void mz_thrift_i32(struct mz_thrift *t, unsigned field, int32_t v)
{
	head(t, field, MZ_THRIFT_I32);
	zigzag(t, v);
}

void mz_thrift_i64(struct mz_thrift *t, unsigned field, int64_t v)
{
	head(t, field, TYPE_I64);
	zigzag(t, v);
}

void mz_thrift_element_i32(struct mz_thrift *t, int32_t v)
{
	zigzag(t, v);
}

void mz_thrift_element_string(struct mz_thrift *t, const char *s)
{
	mz_proto_varint(t->out, strlen(s));
	mz_buf_str(t->out, s);
}

void mz_thrift_string(struct mz_thrift *t, unsigned field, const char *s)
{
	head(t, field, MZ_THRIFT_STRING);
	mz_thrift_element_string(t, s);
}

/* A list of up to 14 elements has its length in the head; 15 announces a number after it. */
void mz_thrift_list(struct mz_thrift *t, unsigned field, enum mz_thrift_type of, size_t n)
{
	char byte = (char)((n < 15 ? n : 15) << 4 | of);

	head(t, field, MZ_THRIFT_LIST);
	mz_buf_add(t->out, &byte, 1);
	if (n >= 15)
		mz_proto_varint(t->out, n);
}

/* Field numbers are relative within a structure, so each level remembers its own last one. */
void mz_thrift_begin(struct mz_thrift *t, unsigned field)
{
	if (field)
		head(t, field, MZ_THRIFT_STRUCT);
	t->last[++t->depth] = 0;
}

/* A structure ends with the type 0 where the next field would be. */
void mz_thrift_end(struct mz_thrift *t)
{
	mz_buf_add(t->out, "", 1);
	t->depth--;
}
