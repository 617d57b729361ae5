// SPDX-License-Identifier: BSD-2-Clause
/* Test the histogram, JSON writer, line input, error text and empty copies of lib/base. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/histogram.h"
#include "base/input.h"
#include "base/json.h"
#include "base/output.h"
#include "base/sha256.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

static void histogram_is_exact_where_it_says(void)
{
	static struct mz_histogram h;
	uint64_t sum = 0, seed = 7;

	for (uint64_t v = 0; v < 256; v++)
		mz_histogram_add(&h, v);
	for (int p = 1; p < 100; p++)
		CHECK_EQ(mz_histogram_quantile(&h, p / 100.0), p * 256 / 100);
	memset(&h, 0, sizeof(h));
	for (int i = 0; i < 100000; i++) {
		uint64_t v = random_next(&seed) >> random_below(&seed, 64);

		mz_histogram_add(&h, v);
		sum += v;
	}
	CHECK(h.sum == sum);
	CHECK_EQ(h.count, 100000);
	for (unsigned bit = 0, n = 0; bit < 64; bit++) {
		n += (unsigned)mz_histogram_doubling(&h, bit);
		if (bit == 63)
			CHECK_EQ(n, 100000);
	}
}

static void histogram_is_within_a_step(void)
{
	for (unsigned bit = 8; bit < 64; bit++) {
		uint64_t v = ((uint64_t)1 << bit) + ((uint64_t)1 << bit) / 3;
		static struct mz_histogram h;

		memset(&h, 0, sizeof(h));
		mz_histogram_add(&h, v);
		mz_histogram_add(&h, UINT64_MAX);
		CHECK(mz_histogram_quantile(&h, 0) >= v);
		CHECK(mz_histogram_quantile(&h, 0) - v <= v / 128);
	}
}

static void json_escapes(void)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};

	mz_json_object(&j, NULL);
	mz_json_str(&j, "a\"b", "x\\\n\x7f\xff</script>");
	mz_json_str(&j, "größe", "日本 \xc2\x9b \xe6\x97");
	mz_json_array(&j, "n");
	mz_json_u64(&j, NULL, UINT64_MAX);
	mz_json_double(&j, NULL, 0.0 / 0.0);
	mz_json_end_array(&j);
	mz_json_end_object(&j);
	mz_buf_add(&b, "", 1);
	CHECK(!strcmp(b.data, "{\n  \"a\\\"b\": \"x\\\\\\u000a\\u007f\\ufffd</script>\",\n"
			      "  \"größe\": \"日本 \\u009b \\ufffd\\ufffd\",\n  \"n\": [\n"
			      "    18446744073709551615,\n    null\n  ]\n}\n"));
	mz_buf_free(&b);
}

/* Lines that end anywhere in the window, from a pipe that gives little. */
static void input_lines(void)
{
	struct mz_input in;
	struct mz_error err = {0};
	char path[] = "/tmp/mz-input-XXXXXX";
	int fd = mkstemp(path);
	uint64_t bytes = 0;
	const char *line;
	size_t len;
	unsigned n = 0;

	unlink(path);
	for (unsigned i = 0; i < 3000; i++) {
		char text[400];

		memset(text, 'a' + i % 26, sizeof(text));
		text[i % 399] = '\n';
		CHECK(write(fd, text, i % 399 + 1) == (ssize_t)(i % 399 + 1));
	}
	CHECK(write(fd, "end", 3) == 3);
	lseek(fd, 0, SEEK_SET);
	CHECK(!mz_input_fd(&in, fd, "x", &err));
	while (mz_input_line(&in, &line, &len, &err) > 0) {
		if (n < 3000)
			CHECK(len == n % 399 && (!len || line[len - 1] == (char)('a' + n % 26)));
		else
			CHECK(len == 3 && !memcmp(line, "end", 3));
		bytes += len + (n < 3000);
		CHECK(mz_input_tell(&in) == bytes);
		n++;
	}
	CHECK_EQ(n, 3001);
	mz_input_close(&in);
	close(fd);
}

static void input_line_too_long(void)
{
	static char big[MZ_LINE_MAX * 2];
	struct mz_error err = {0};
	struct mz_input in;
	const char *line;
	size_t len;
	int fds[2];

	memset(big, 'x', sizeof(big));
	CHECK(!mz_input_memory(&in, big, sizeof(big), "big", &err));
	CHECK(mz_input_line(&in, &line, &len, &err) == 1); /* memory is all there */
	mz_input_close(&in);
	CHECK(!pipe(fds));
	close(fds[1]);
	close(fds[0]);
	CHECK(!mz_input_fd(&in, fds[0], "closed", &err));
	CHECK(mz_input_line(&in, &line, &len, &err) < 0);
	CHECK(strstr(err.text, "closed: cannot read"));
	mz_input_close(&in);
}

static void the_first_error_stays(void)
{
	struct mz_error err = {0};

	CHECK(mz_fail(&err, 5, "first %d", 1) == -5);
	CHECK(mz_fail_line(&err, 6, 7, "second") == -6);
	CHECK(err.code == 5 && !err.line && !strcmp(err.text, "first 1"));
	CHECK(mz_fail(NULL, 5, "nobody listens") == -5);
}

/* An empty array may be NULL, and memcpy() does not take that: the sanitizer round sees it. */
static void copies_of_nothing(void)
{
	struct mz_output out;
	struct mz_error err = {0};
	struct mz_buf b = {0};
	struct mz_sha256 s, t;
	unsigned char with[32], without[32];

	mz_buf_add(&b, NULL, 0);
	CHECK(!b.len && !b.failed);
	CHECK(!mz_output_open(&out, "/dev/null", true, &err));
	CHECK(!mz_output_add(&out, NULL, 0, &err) && !out.len);
	CHECK(!mz_output_commit(&out, &err));
	mz_sha256_init(&s);
	mz_sha256_init(&t);
	mz_sha256_add(&s, "a", 1);
	mz_sha256_add(&t, "a", 1);
	mz_sha256_add(&s, NULL, 0);
	mz_sha256_end(&s, with);
	mz_sha256_end(&t, without);
	CHECK(!memcmp(with, without, 32));
}

int main(void)
{
	RUN(histogram_is_exact_where_it_says);
	RUN(histogram_is_within_a_step);
	RUN(json_escapes);
	RUN(input_lines);
	RUN(input_line_too_long);
	RUN(the_first_error_stays);
	RUN(copies_of_nothing);
	return test_end();
}
