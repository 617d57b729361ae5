/* SPDX-License-Identifier: BSD-2-Clause */
/* Thrift's compact protocol, as much of it as Parquet's metadata takes. */
#ifndef MZ_EXPORT_THRIFT_H
#define MZ_EXPORT_THRIFT_H

#include "base/buf.h"

#define MZ_THRIFT_DEPTH 8

struct mz_thrift {
	struct mz_buf *out;
	unsigned depth;
	unsigned last[MZ_THRIFT_DEPTH]; /* number of the last field, by level */
};

enum mz_thrift_type {
	MZ_THRIFT_I32 = 5,
	MZ_THRIFT_STRING = 8,
	MZ_THRIFT_LIST = 9,
	MZ_THRIFT_STRUCT = 12
};

void mz_thrift_i32(struct mz_thrift *t, unsigned field, int32_t v);
void mz_thrift_i64(struct mz_thrift *t, unsigned field, int64_t v);
void mz_thrift_string(struct mz_thrift *t, unsigned field, const char *s);
void mz_thrift_list(struct mz_thrift *t, unsigned field, enum mz_thrift_type of, size_t n);
/* Elements of a list of numbers or strings; structs begin with field 0. */
void mz_thrift_element_i32(struct mz_thrift *t, int32_t v);
void mz_thrift_element_string(struct mz_thrift *t, const char *s);
void mz_thrift_begin(struct mz_thrift *t, unsigned field);
void mz_thrift_end(struct mz_thrift *t);

#endif
