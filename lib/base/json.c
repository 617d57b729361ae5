// SPDX-License-Identifier: BSD-2-Clause
/* Write JSON into a buffer, with commas and escapes. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

/* Escaped: what JSON demands, what a terminal would obey (C1 too, in two bytes), and in a page
 * what would end the script. */
static bool escaped(const struct mz_json *j, unsigned char c)
{
	return c < 0x20 || c == 0x7f || (j->html && (c == '<' || c == '>' || c == '&'));
}

/* Names are hostile input: what is not UTF-8 is replaced, as readers of JSON demand. */
static void string(const struct mz_json *j, const char *s, size_t n)
{
	struct mz_buf *b = j->out;

	mz_buf_add(b, "\"", 1);
	for (size_t i = 0, len; i < n; i += len) {
		unsigned char c = (unsigned char)s[i];

		len = c < 0x80 ? 1 : mz_utf8_length(s + i, n - i);
		if (c == '"' || c == '\\')
			mz_buf_printf(b, "\\%c", c);
		else if (escaped(j, c))
			mz_buf_printf(b, "\\u%04x", c);
		else if (len == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)
			mz_buf_printf(b, "\\u%04x", (unsigned char)s[i + 1]);
		else if (len)
			mz_buf_add(b, &s[i], len);
		else {
			mz_buf_str(b, "\\ufffd");
			len = 1;
		}
	}
	mz_buf_add(b, "\"", 1);
}

/* Every value begins here: the comma after its predecessor, the indentation, and the key. */
static void start(struct mz_json *j, const char *key)
{
	if (j->comma)
		mz_buf_str(j->out, j->flat && !j->tight ? ", " : ",");
	if (j->depth && !j->flat) {
		mz_buf_str(j->out, "\n");
		for (unsigned i = 0; i < j->depth; i++)
			mz_buf_str(j->out, "  ");
	}
	if (key) {
		string(j, key, strlen(key));
		mz_buf_str(j->out, j->tight ? ":" : ": ");
	}
	j->comma = true;
}

static void open_level(struct mz_json *j, const char *key, const char *mark)
{
	start(j, key);
	mz_buf_str(j->out, mark);
	j->depth++;
	j->comma = false;
}

/* The line end after the last level makes each text a whole line. */
static void close_level(struct mz_json *j, const char *mark)
{
	j->depth--;
	if (j->comma && !j->flat) {
		mz_buf_str(j->out, "\n");
		for (unsigned i = 0; i < j->depth; i++)
			mz_buf_str(j->out, "  ");
	}
	mz_buf_str(j->out, mark);
	if (!j->depth)
		mz_buf_str(j->out, "\n");
	j->comma = true;
}

void mz_json_object(struct mz_json *j, const char *key)
{
	open_level(j, key, "{");
}

void mz_json_array(struct mz_json *j, const char *key)
{
	open_level(j, key, "[");
}

void mz_json_end_object(struct mz_json *j)
{
	close_level(j, "}");
}

void mz_json_end_array(struct mz_json *j)
{
	close_level(j, "]");
}

void mz_json_u64(struct mz_json *j, const char *key, uint64_t v)
{
	start(j, key);
	mz_buf_printf(j->out, "%" PRIu64, v);
}

void mz_json_i64(struct mz_json *j, const char *key, int64_t v)
{
	start(j, key);
	mz_buf_printf(j->out, "%" PRId64, v);
}

void mz_json_double(struct mz_json *j, const char *key, double v)
{
	start(j, key);
	/* JSON has no word for infinity or for a value that is no number */
	if (isfinite(v))
		mz_buf_printf(j->out, "%.6g", v);
	else
		mz_buf_str(j->out, "null");
}

void mz_json_bool(struct mz_json *j, const char *key, bool v)
{
	start(j, key);
	mz_buf_str(j->out, v ? "true" : "false");
}

void mz_json_null(struct mz_json *j, const char *key)
{
	start(j, key);
	mz_buf_str(j->out, "null");
}

void mz_json_str(struct mz_json *j, const char *key, const char *s)
{
	mz_json_strn(j, key, s, strlen(s));
}

void mz_json_strn(struct mz_json *j, const char *key, const char *s, size_t n)
{
	start(j, key);
	string(j, s, n);
}

void mz_json_hex(struct mz_json *j, const char *key, uint64_t v)
{
	start(j, key);
	mz_buf_printf(j->out, "\"%" PRIx64 "\"", v);
}
