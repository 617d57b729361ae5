// SPDX-License-Identifier: BSD-2-Clause
/* Parse JSON token by token in bounded memory. */
#include "base/json_read.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

void mz_json_reader_init(struct mz_json_reader *r, struct mz_input *in)
{
	*r = (struct mz_json_reader){.in = in, .state = MZ_JSON_VALUE};
}

void mz_json_reader_deinit(struct mz_json_reader *r)
{
	mz_buf_free(&r->text);
}

static int wrong(struct mz_json_reader *r, struct mz_error *err, const char *what)
{
	uint64_t at = mz_input_tell(r->in);

	return mz_fail_offset(err, EINVAL, at, "%s: byte %llu: not JSON: %s", r->in->name,
			      (unsigned long long)at, what);
}

/* The byte at hand; -1 at the end; below that -errno - 1. */
static int peek(struct mz_json_reader *r, struct mz_error *err)
{
	if (!mz_input_left(r->in)) {
		int ret = mz_input_fill(r->in, 1, err);

		if (ret < 0)
			return ret - 1;
	}
	return mz_input_left(r->in) ? (unsigned char)*r->in->pos : -1;
}

static int blanks(struct mz_json_reader *r, struct mz_error *err)
{
	int c;

	while ((c = peek(r, err)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		r->in->pos++;
	return c;
}

/* ---- strings ------------------------------------------------------------ */

/* Digits are read one by one, since the window may end between them. */
static int four_digits(struct mz_json_reader *r, unsigned *v, struct mz_error *err)
{
	*v = 0;
	for (int i = 0; i < 4; i++) {
		int c = peek(r, err), low = c | 0x20;

		if (c < -1)
			return c + 1;
		if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'f' && c > 0)))
			return wrong(r, err, "\\u needs four hexadecimal digits");
		*v = *v << 4 | (unsigned)(c <= '9' ? c - '0' : low - 'a' + 10);
		r->in->pos++;
	}
	return 0;
}

static void add_utf8(struct mz_buf *b, unsigned v)
{
	char c[4];
	size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;

	if (n == 1)
		c[0] = (char)v;
	for (size_t i = n; n > 1 && --i; v >>= 6)
		c[i] = (char)(0x80 | (v & 0x3f));
	if (n > 1)
		c[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | v);
	mz_buf_add(b, c, n);
}

/* A half of a pair by itself is no character: U+FFFD. */
static int add_unicode(struct mz_json_reader *r, struct mz_error *err)
{
	unsigned v, low;
	int ret = four_digits(r, &v, err);

	if (ret < 0)
		return ret;
	if (v >= 0xd800 && v < 0xdc00) {
		if (mz_input_fill(r->in, 6, err) < 0)
			return -err->code;
		if (mz_input_left(r->in) >= 6 && r->in->pos[0] == '\\' && r->in->pos[1] == 'u') {
			r->in->pos += 2;
			ret = four_digits(r, &low, err);
			if (ret < 0)
				return ret;
			if (low >= 0xdc00 && low < 0xe000) {
				add_utf8(&r->text, 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00));
				return 0;
			}
			add_utf8(&r->text, 0xfffd);
			v = low;
		}
	}
	add_utf8(&r->text, v >= 0xd800 && v < 0xe000 ? 0xfffd : v);
	return 0;
}

static int escape(struct mz_json_reader *r, struct mz_error *err)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(r, err);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	if (c < -1)
		return c + 1;
	if (c == 'u') {
		r->in->pos++;
		return add_unicode(r, err);
	}
	if (!at)
		return wrong(r, err, "an unknown escape after a backslash");
	mz_buf_add(&r->text, &to[at - from], 1);
	r->in->pos++;
	return 0;
}

/* The text is collected in a buffer of the reader, which the next string reuses. The limit
 * bounds the memory that a hostile file can make us use. */
static int string(struct mz_json_reader *r, struct mz_error *err)
{
	r->text.len = 0;
	r->in->pos++;
	for (;;) {
		int c = peek(r, err), ret = 0;

		if (c < -1)
			return c + 1;
		if (c == -1)
			return wrong(r, err, "it ends inside a string");
		if (c < 0x20)
			return wrong(r, err, "a control character in a string");
		if (c == '"')
			break;
		if (c == '\\') {
			r->in->pos++;
			ret = escape(r, err);
		} else {
			mz_buf_add(&r->text, r->in->pos, 1);
			r->in->pos++;
		}
		if (ret < 0)
			return ret;
		if (r->text.failed)
			return mz_fail_memory(err);
		if (r->text.len > MZ_LINE_MAX)
			return wrong(r, err, "a string of more than 1 MiB");
	}
	r->in->pos++;
	mz_buf_add(&r->text, "", 1);
	r->text.len--;
	return r->text.failed ? mz_fail_memory(err) : 0;
}

/* ---- numbers and words -------------------------------------------------- */

static int number(struct mz_json_reader *r, struct mz_error *err)
{
	/* a fraction or an exponent is accepted and not computed: no format that is read here needs
	 * one */
	bool digits = false;
	int c;

	r->number = 0;
	r->whole = true;
	while ((c = peek(r, err)) >= 0 && strchr("+-.0123456789eE", c) && c) {
		if (c >= '0' && c <= '9') {
			digits = true;
			if (r->number > (UINT64_MAX - (unsigned)(c - '0')) / 10)
				r->whole = false;
			r->number = r->number * 10 + (unsigned)(c - '0');
		} else {
			r->whole = false;
		}
		r->in->pos++;
	}
	if (c < -1)
		return c + 1;
	return digits ? MZ_JSON_NUMBER : wrong(r, err, "a number without digits");
}

static int word(struct mz_json_reader *r, const char *text, int piece, struct mz_error *err)
{
	size_t n = strlen(text);

	if (mz_input_fill(r->in, n, err) < 0)
		return -err->code;
	if (mz_input_left(r->in) < n || memcmp(r->in->pos, text, n))
		return wrong(r, err, "expected a value");
	r->in->pos += n;
	return piece;
}

/* ---- pieces ------------------------------------------------------------- */

static int open_level(struct mz_json_reader *r, bool object, struct mz_error *err)
{
	/* what each level is must be remembered, and there is room for so many */
	if (r->depth == MZ_JSON_DEPTH)
		return wrong(r, err, "too many levels");
	r->object[r->depth++] = object;
	r->in->pos++;
	r->state = MZ_JSON_FIRST;
	return object ? MZ_JSON_OBJECT : MZ_JSON_ARRAY;
}

static int value(struct mz_json_reader *r, int c, struct mz_error *err)
{
	int ret;

	if (c == '{' || c == '[')
		return open_level(r, c == '{', err);
	r->state = r->depth ? MZ_JSON_NEXT : MZ_JSON_DONE;
	switch (c) {
	case '"': ret = string(r, err); return ret < 0 ? ret : MZ_JSON_STRING;
	case 't': return word(r, "true", MZ_JSON_TRUE, err);
	case 'f': return word(r, "false", MZ_JSON_FALSE, err);
	case 'n': return word(r, "null", MZ_JSON_NULL, err);
	default: break;
	}
	if (c == '-' || (c >= '0' && c <= '9'))
		return number(r, err);
	return wrong(r, err, c == -1 ? "it ends where a value was expected" : "expected a value");
}

static int close_level(struct mz_json_reader *r)
{
	bool object = r->object[--r->depth];

	r->in->pos++;
	r->state = r->depth ? MZ_JSON_NEXT : MZ_JSON_DONE;
	return object ? MZ_JSON_OBJECT_END : MZ_JSON_ARRAY_END;
}

/* A name and its colon are one piece, so that the caller always sees the value next. */
static int key(struct mz_json_reader *r, int c, struct mz_error *err)
{
	int ret;

	if (c != '"')
		return wrong(r, err, "expected a name in quotes");
	ret = string(r, err);
	if (ret < 0)
		return ret;
	c = blanks(r, err);
	if (c < -1)
		return c + 1;
	if (c != ':')
		return wrong(r, err, "expected a colon");
	r->in->pos++;
	r->state = MZ_JSON_VALUE;
	return MZ_JSON_KEY;
}

/* One token per call, driven by the state after the previous one. There is no recursion, so
 * the nesting of the input does not matter. */
int mz_json_read(struct mz_json_reader *r, struct mz_error *err)
{
	int c = blanks(r, err);
	bool object = r->depth && r->object[r->depth - 1];

	if (c < -1)
		return c + 1;
	if (r->state == MZ_JSON_DONE)
		return c == -1 ? MZ_JSON_END : wrong(r, err, "there is text after its end");
	if (r->state == MZ_JSON_VALUE)
		return value(r, c, err);
	if (c == (object ? '}' : ']'))
		return close_level(r);
	if (r->state == MZ_JSON_NEXT) {
		if (c != ',')
			return wrong(r, err, c == -1 ? "it ends too early" : "expected a comma");
		r->in->pos++;
		c = blanks(r, err);
		if (c < -1)
			return c + 1;
	}
	return object ? key(r, c, err) : value(r, c, err);
}

/* Skips a value of any depth; unknown keys of newer versions are skipped this way. */
int mz_json_skip(struct mz_json_reader *r, int piece, struct mz_error *err)
{
	unsigned depth = r->depth;

	if (piece == MZ_JSON_KEY) {
		piece = mz_json_read(r, err);
		depth = r->depth;
	}
	if (piece != MZ_JSON_OBJECT && piece != MZ_JSON_ARRAY)
		return piece < 0 ? piece : 0;
	while (r->depth >= depth) {
		piece = mz_json_read(r, err);
		if (piece < 0)
			return piece;
	}
	return 0;
}
