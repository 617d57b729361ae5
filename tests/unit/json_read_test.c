// SPDX-License-Identifier: BSD-2-Clause
/* Reading JSON: random texts whose pieces are known, and texts that are none. */
#include "base/json_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define PIECES 4000

struct piece {
	int kind;
	char text[16];
	size_t len;
	uint64_t number;
	bool whole;
};

static uint64_t state;
static struct piece pieces[PIECES];
static size_t count;
static struct mz_buf json;

static struct piece *add(int kind)
{
	pieces[count] = (struct piece){.kind = kind};
	return &pieces[count++];
}

static void blank(void)
{
	static const char *const some[] = {"", "", "", " ", "\n", "\t ", "\r\n"};

	mz_buf_str(&json, some[random_below(&state, 7)]);
}

/* A letter as it is, by its escape, or by its number. */
static void put_string(int kind)
{
	static const struct {
		const char *written, *read;
	} letters[] = {
		{"a", "a"},    {"\\\"", "\""},	 {"\\\\", "\\"},   {"\\/", "/"},
		{"\\n", "\n"}, {"\\u0041", "A"}, {"\\u00e9", "é"}, {"é", "é"},
		{"\\t", "\t"}, {"\\b", "\b"},	 {"\\u20AC", "€"}, {"\\r", "\r"},
		{"\\f", "\f"}, {"{", "{"},	 {",", ","},	   {"\\ud83d\\ude00", "😀"},
	};
	struct piece *p = add(kind);

	mz_buf_str(&json, "\"");
	for (uint64_t n = random_below(&state, 4); n; n--) {
		uint64_t i = random_below(&state, sizeof(letters) / sizeof(*letters));

		mz_buf_str(&json, letters[i].written);
		strcat(p->text, letters[i].read);
	}
	p->len = strlen(p->text);
	mz_buf_str(&json, "\"");
}

static void put_number(void)
{
	struct piece *p = add(MZ_JSON_NUMBER);

	p->number = random_next(&state) >> random_below(&state, 64);
	switch (random_below(&state, 5)) {
	case 0: mz_buf_printf(&json, "-%" PRIu64, p->number); return;
	case 1: mz_buf_printf(&json, "%" PRIu64 ".5", p->number); return;
	case 2: mz_buf_str(&json, "18446744073709551616"); return; /* 2^64 */
	default: p->whole = true; mz_buf_printf(&json, "%" PRIu64, p->number);
	}
}

static void put_value(unsigned depth);

static void put_many(unsigned depth, bool object)
{
	uint64_t n = random_below(&state, 5);

	add(object ? MZ_JSON_OBJECT : MZ_JSON_ARRAY);
	mz_buf_str(&json, object ? "{" : "[");
	for (uint64_t i = 0; i < n && count < PIECES - 200; i++) {
		if (i)
			mz_buf_str(&json, ",");
		blank();
		if (object) {
			put_string(MZ_JSON_KEY);
			blank();
			mz_buf_str(&json, ":");
		}
		put_value(depth + 1);
	}
	blank();
	add(object ? MZ_JSON_OBJECT_END : MZ_JSON_ARRAY_END);
	mz_buf_str(&json, object ? "}" : "]");
}

static void put_value(unsigned depth)
{
	blank();
	switch (random_below(&state, depth < 12 ? 10 : 5)) {
	case 0:
		add(MZ_JSON_TRUE);
		mz_buf_str(&json, "true");
		break;
	case 1:
		add(MZ_JSON_FALSE);
		mz_buf_str(&json, "false");
		break;
	case 2:
		add(MZ_JSON_NULL);
		mz_buf_str(&json, "null");
		break;
	case 3: put_number(); break;
	case 4: put_string(MZ_JSON_STRING); break;
	case 5:
	case 6:
	case 7: put_many(depth, true); break;
	default: put_many(depth, false);
	}
	blank();
}

static void begin(struct mz_json_reader *r, struct mz_input *in, const char *text, size_t len)
{
	struct mz_error err = {0};

	CHECK_EQ(mz_input_memory(in, text, len, "text", &err), 0);
	mz_json_reader_init(r, in);
}

static void end(struct mz_json_reader *r, struct mz_input *in)
{
	mz_json_reader_deinit(r);
	mz_input_close(in);
}

static void random_texts(void)
{
	size_t all = 0;

	for (int turn = 0; turn < 2000; turn++) {
		struct mz_json_reader r;
		struct mz_error err = {0};
		struct mz_input in;

		count = json.len = 0;
		put_value(0);
		add(MZ_JSON_END);
		begin(&r, &in, json.data, json.len);
		for (size_t i = 0; i < count; i++) {
			const struct piece *p = &pieces[i];
			int got = mz_json_read(&r, &err);

			CHECK_EQ(got, p->kind);
			if (got != p->kind)
				break;
			if (got == MZ_JSON_KEY || got == MZ_JSON_STRING)
				CHECK(r.text.len == p->len &&
				      (!p->len || !memcmp(r.text.data, p->text, p->len)));
			if (got == MZ_JSON_NUMBER)
				CHECK(r.whole == p->whole && (!r.whole || r.number == p->number));
		}
		all += count;
		end(&r, &in);
	}
	CHECK(all > 10000);
}

/* Any value is skipped whole: the one behind it comes next. */
static void skipping(void)
{
	for (int turn = 0; turn < 500; turn++) {
		struct mz_json_reader r;
		struct mz_error err = {0};
		struct mz_input in;
		int piece;

		count = json.len = 0;
		mz_buf_str(&json, "[");
		put_value(2);
		mz_buf_str(&json, ",4711]");
		begin(&r, &in, json.data, json.len);
		CHECK_EQ(mz_json_read(&r, &err), MZ_JSON_ARRAY);
		piece = mz_json_read(&r, &err);
		CHECK_EQ(mz_json_skip(&r, piece, &err), 0);
		CHECK_EQ(mz_json_read(&r, &err), MZ_JSON_NUMBER);
		CHECK_EQ(r.number, 4711);
		end(&r, &in);
	}
}

static bool is_json(const char *text, size_t len)
{
	struct mz_json_reader r;
	struct mz_error err = {0};
	struct mz_input in;
	int got;

	begin(&r, &in, text, len);
	do
		got = mz_json_read(&r, &err);
	while (got > 0);
	CHECK(!got || err.text[0]);
	end(&r, &in);
	return !got;
}

static void no_json(void)
{
	static const char *const bad[] = {
		"{",   "[1,]",	     "[1 2]",	    "{\"a\"}", "{\"a\":}",  "{a:1}", "[",   "]",
		"\"",  "\"\\x\"",    "\"\\u12g4\"", "tru",     "nulL",	    "-",     "1 2", "[1]]",
		"{,}", "{\"a\":1,}", "\"\n\"",	    "[,1]",    "{\"a\" 1}", "[}",    "{]",
	};
	char deep[2 * MZ_JSON_DEPTH + 8] = "";

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (is_json(bad[i], strlen(bad[i])))
			printf("# taken for JSON: %s\n", bad[i]);
		CHECK(!is_json(bad[i], strlen(bad[i])));
	}
	for (int i = 0; i < MZ_JSON_DEPTH + 1; i++)
		strcat(deep, "[");
	for (int i = 0; i < MZ_JSON_DEPTH + 1; i++)
		strcat(deep, "]");
	CHECK(!is_json(deep, strlen(deep)));
	CHECK(is_json(deep + 1, strlen(deep) - 2));
}

/* A text that is cut anywhere is none, unless what is left is a number. */
static void cut_texts(void)
{
	for (int turn = 0; turn < 200; turn++) {
		count = json.len = 0;
		put_many(0, turn & 1);
		for (size_t n = 1; n < json.len; n++)
			CHECK(!is_json(json.data, n));
		CHECK(is_json(json.data, json.len));
	}
}

int main(void)
{
	RUN(random_texts);
	RUN(skipping);
	RUN(no_json);
	RUN(cut_texts);
	mz_buf_free(&json);
	return test_end();
}
