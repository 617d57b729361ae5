/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading JSON piece by piece, in bounded memory: a string is at most a line long
 * (MZ_LINE_MAX), and objects and arrays are MZ_JSON_DEPTH deep at most. */
#ifndef MZ_BASE_JSON_READ_H
#define MZ_BASE_JSON_READ_H

#include "base/buf.h"
#include "base/input.h"

#define MZ_JSON_DEPTH 64

enum mz_json_piece {
	MZ_JSON_END, /* of the text */
	MZ_JSON_OBJECT,
	MZ_JSON_OBJECT_END,
	MZ_JSON_ARRAY,
	MZ_JSON_ARRAY_END,
	MZ_JSON_KEY, /* in text; its value comes next */
	MZ_JSON_STRING,
	MZ_JSON_NUMBER,
	MZ_JSON_TRUE,
	MZ_JSON_FALSE,
	MZ_JSON_NULL,
};

struct mz_json_reader {
	struct mz_input *in;
	struct mz_buf text; /* KEY, STRING: as UTF-8 where it was written so */
	uint64_t number;    /* a whole number of 64 bits, if whole */
	bool whole;	    /* neither negative, nor with a fraction, nor too large */
	unsigned depth;
	bool object[MZ_JSON_DEPTH]; /* by level: an object, else an array */
	enum { MZ_JSON_VALUE, MZ_JSON_FIRST, MZ_JSON_NEXT, MZ_JSON_DONE } state;
};

void mz_json_reader_init(struct mz_json_reader *r, struct mz_input *in);
void mz_json_reader_deinit(struct mz_json_reader *r);

/* The next piece, or -errno with err set: file, byte, reason. */
int mz_json_read(struct mz_json_reader *r, struct mz_error *err);

/* The rest of the value that began with this piece (a key: of its value). 0 or -errno. */
int mz_json_skip(struct mz_json_reader *r, int piece, struct mz_error *err);

#endif
