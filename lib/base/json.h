/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing JSON into a buffer: commas, escapes and UTF-8 are taken care of. */
#ifndef MZ_BASE_JSON_H
#define MZ_BASE_JSON_H

#include "base/buf.h"

struct mz_json {
	struct mz_buf *out;
	unsigned depth;
	bool comma; /* a value precedes on this level */
	bool flat;  /* all of it in one line */
	bool tight; /* and without blanks */
	bool html;  /* to stand in a page: no <, > or & but as escapes */
};

/* key NULL: an element of an array, or the top. */
void mz_json_object(struct mz_json *j, const char *key);
void mz_json_array(struct mz_json *j, const char *key);
void mz_json_end_object(struct mz_json *j);
void mz_json_end_array(struct mz_json *j);
void mz_json_u64(struct mz_json *j, const char *key, uint64_t v);
void mz_json_i64(struct mz_json *j, const char *key, int64_t v);
void mz_json_double(struct mz_json *j, const char *key, double v);
void mz_json_bool(struct mz_json *j, const char *key, bool v);
void mz_json_null(struct mz_json *j, const char *key);
void mz_json_str(struct mz_json *j, const char *key, const char *s);
void mz_json_strn(struct mz_json *j, const char *key, const char *s, size_t n);
/* Addresses are hex strings: a JSON number loses bits over 2^53. */
void mz_json_hex(struct mz_json *j, const char *key, uint64_t v);

#endif
