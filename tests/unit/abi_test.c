// SPDX-License-Identifier: BSD-2-Clause
/*
 * The public structures keep their shape: a program that was built with an older header
 * still works. Sizes and offsets are those of 64-bit machines. A structure that begins
 * with `size` may grow at its end, one that has reserved members may use them; the others
 * may not change at all.
 */
#include <errno.h>
#include <memorizer.h>
#include <memorizer/pool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define SHAPE(type, total, last, at)                                                               \
	do {                                                                                       \
		CHECK_EQ(sizeof(struct type), total);                                              \
		CHECK_EQ(offsetof(struct type, last), at);                                         \
	} while (0)

static void fixed_structures(void)
{
	SHAPE(mz_error, 512, text, 25);
	SHAPE(mz_event, 96, unit, 92);
	CHECK_EQ(offsetof(struct mz_event, site), 64);
	CHECK_EQ(offsetof(struct mz_event, has), 88);
	SHAPE(mz_unmatched, 16, over_live, 8);
	SHAPE(mz_attr, 40, size, 32);
	SHAPE(mz_select, 64, reserved, 40);
	SHAPE(mz_writer_options, 32, reserved, 12);
	SHAPE(mz_pool, 32, reserved, 28);
}

static void growing_structures(void)
{
	SHAPE(mz_analysis_options, 72, suppressions, 64);
	CHECK_EQ(offsetof(struct mz_analysis_options, no_default_suppressions), 44);
	SHAPE(mz_code_frame, 48, inlined, 44);
	SHAPE(mz_compare_options, 24, sort, 16);
	SHAPE(mz_totals, 304, files_cut, 296);
	SHAPE(mz_summary, 224, end, 216);
	SHAPE(mz_verify, 72, progress, 64);
	SHAPE(mz_pool_calls, 64, leave, 56);
	CHECK_EQ(offsetof(struct mz_analysis_options, flags), 28);
	CHECK_EQ(offsetof(struct mz_summary, size), 0);
	CHECK_EQ(offsetof(struct mz_verify, size), 0);
	CHECK_EQ(offsetof(struct mz_analysis_options, size), 0);
	CHECK_EQ(offsetof(struct mz_code_frame, size), 0);
	CHECK_EQ(offsetof(struct mz_compare_options, size), 0);
	CHECK_EQ(offsetof(struct mz_totals, size), 0);
	CHECK_EQ(offsetof(struct mz_pool_calls, size), 0);
}

static void numbers(void)
{
	CHECK_EQ(MZ_KINDS, 7);
	CHECK_EQ(MZ_CALLS, 28);
	CHECK_EQ(MZ_CALL_MARK, 27);
	CHECK_EQ(MZ_LOSS_SANDBOX, 6);
	CHECK_EQ(MZ_LOSSES, 8);
	CHECK_EQ(MZ_RECORDING_SUMS, 4);
	CHECK_EQ(MZ_ASK_CLASSES, 8);
	CHECK_EQ(MZ_ASK_ACCESSORS, 21);
	CHECK_EQ(MZ_ASK_CALLS, 22);
	CHECK_EQ(MZ_ASK_FUNCTIONS, 23);
	CHECK_EQ(MZ_ASK_STACK_QUALITY, 28);
	CHECK_EQ(MZ_WANT_THREADS, 8);
	CHECK_EQ(MZ_COMPARE_OBJECT, 5);
	CHECK_EQ(MZ_COMPARE_WHOLE, 6);
	for (int i = 0; i < MZ_QUESTIONS; i++)
		CHECK(mz_question_name(i));
	CHECK(!mz_question_name(MZ_QUESTIONS));
	CHECK(!mz_question_name(-1));
	CHECK(!mz_recording_kind_name(MZ_RECORDING_KINDS));
}

static void write_text(char path[64], const char *text)
{
	FILE *f;

	snprintf(path, 64, "/tmp/abi_test.XXXXXX");
	f = fdopen(mkstemp(path), "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static const char *write_trace(void)
{
	static char path[64];

	write_text(path, "malloc(8) = 10\nmalloc(16) = 20\nfree(10)\n");
	return path;
}

/* A program of another time: its structures are shorter, or longer. */
static void other_sizes(void)
{
	const char *path = write_trace();
	struct {
		struct mz_analysis_options o;
		uint64_t more;
	} longer = {.o = {.size = sizeof(longer)}};
	struct {
		struct mz_totals t;
		uint64_t more;
	} totals = {.t = {.size = sizeof(totals)}, .more = 7};
	struct mz_totals shorter = {.size = offsetof(struct mz_totals, blocks), .blocks = 99};
	struct mz_error err = {0};
	struct mz_analysis *a = mz_analysis_open(&path, 1, &longer.o, &err);

	CHECK(a); /* longer, and nothing is asked for there */
	if (!a)
		return;
	CHECK_EQ(mz_analysis_totals(a, &totals.t), 0);
	CHECK_EQ(totals.t.blocks, 2);
	CHECK_EQ(totals.t.live_bytes, 16);
	CHECK_EQ(totals.more, 0); /* not known to this library */
	CHECK_EQ(mz_analysis_totals(a, &shorter), 0);
	CHECK_EQ(shorter.events, 3);
	CHECK_EQ(shorter.blocks, 99); /* behind its end */
	shorter.size = 0;
	CHECK_EQ(mz_analysis_totals(a, &shorter), -EINVAL);
	mz_analysis_close(a);

	longer.more = 1;
	CHECK(!mz_analysis_open(&path, 1, &longer.o, &err));
	CHECK_EQ(err.code, E2BIG);
	longer.o.size = offsetof(struct mz_analysis_options, suppressions); /* before them */
	a = mz_analysis_open(&path, 1, &longer.o, &err);
	CHECK(a);
	mz_analysis_close(a);
	longer.o.size = 0;
	err = (struct mz_error){0};
	CHECK(!mz_analysis_open(&path, 1, &longer.o, &err));
	CHECK_EQ(err.code, EINVAL);
	CHECK(!mz_analysis_open(&path, 0, NULL, NULL));
	remove(path);
}

static void count_progress(void *arg, double share, uint64_t events)
{
	*(double *)arg = share + (double)events;
}

/* The same of what is said about a container. */
static void other_summaries(void)
{
	char path[] = "/tmp/abi_test.XXXXXX";
	int fd = mkstemp(path);
	struct mz_event ev = {.kind = MZ_ALLOC, .call = MZ_CALL_MALLOC, .object = 1, .size = 8};
	struct mz_writer_options o = {.overwrite = true};
	struct mz_writer *w = fd < 0 ? NULL : mz_writer_open(path, &o, NULL);
	struct {
		struct mz_summary s;
		uint64_t more;
	} longer = {.s = {.size = sizeof(longer)}, .more = 7};
	struct mz_summary none = {0},
			  shorter = {.size = offsetof(struct mz_summary, lost), .chunks = 99};
	struct mz_verify v = {.size = sizeof(v), .summary = &longer.s};
	struct mz_verify old = {.size = offsetof(struct mz_verify, summary), .summary = &none};
	struct mz_verify bad = {.size = sizeof(bad), .summary = &none};
	struct mz_error err = {0};
	struct mz_reader *r;
	double shown = 0;

	CHECK(w && !mz_writer_add(w, &ev, 1) && !mz_writer_close(w, NULL));
	CHECK_EQ(mz_verify_file(path, &v, NULL, NULL, NULL), 0);
	CHECK(v.decoded == 1 && v.summary == &longer.s && longer.s.size == sizeof(longer));
	CHECK(longer.s.events == 1 && longer.s.whole && !longer.more);
	CHECK_EQ(mz_verify_file(path, NULL, NULL, NULL, NULL), 0);
	v.progress = count_progress;
	CHECK_EQ(mz_verify_file(path, &v, NULL, &shown, NULL), 0);
	CHECK(shown > 1.9 && shown < 2.1 && v.progress == count_progress); /* all, and one event */
	v.size = offsetof(struct mz_verify, progress);
	shown = 0;
	CHECK_EQ(mz_verify_file(path, &v, NULL, &shown, NULL), 0);
	CHECK(shown < 0.1);					   /* a structure of before */
	CHECK_EQ(mz_verify_file(path, &old, NULL, NULL, NULL), 0); /* no room for the pointer */
	CHECK_EQ(mz_verify_file(path, &bad, NULL, NULL, &err), -EINVAL);
	CHECK(*err.text);
	r = mz_reader_open(path, NULL);
	CHECK(r && !mz_reader_summary(r, &shorter));
	CHECK(shorter.events == 1 && shorter.chunks == 99);
	CHECK(r && mz_reader_summary(r, &none) == -EINVAL);
	mz_reader_close(r);
	remove(path);
	if (fd >= 0)
		close(fd);
}

/* A table answers for what is not there, too. */
static void tables(void)
{
	const char *path = write_trace();
	struct mz_error err = {0};
	struct mz_analysis *a = mz_analysis_open(&path, 1, NULL, &err);
	struct mz_result_table *t = a ? mz_analysis_ask(a, MZ_ASK_SIZES, NULL, &err) : NULL;

	CHECK(t);
	if (t) {
		mz_analysis_close(a); /* the table stays */
		a = NULL;
		CHECK_EQ(mz_result_rows(t), 2);
		CHECK_EQ(mz_result_find(t, "blocks"), 1);
		CHECK_EQ(mz_result_find(t, "nothing"), -ENOENT);
		CHECK_EQ(mz_result_number(t, 0, 0), 8);
		CHECK_EQ(mz_result_number(t, 1, 1), 1);
		CHECK_EQ(mz_result_number(t, 2, 0), 0);
		CHECK_EQ(mz_result_number(t, 0, 2), 0);
		CHECK(!strcmp(mz_result_string(t, 0, 0), ""));
		CHECK(mz_result_share(t, 0, 0) == 0);
		CHECK(!mz_result_key(t, 2) && !mz_result_title(t, 9));
		CHECK_EQ(mz_result_type_of(t, 2), -EINVAL);
	}
	mz_result_free(t);
	mz_result_free(NULL);
	mz_analysis_close(a);
	remove(path);
}

static uint64_t cell(const struct mz_result_table *t, const char *key)
{
	int column = mz_result_find(t, key);

	CHECK(column >= 0);
	return column < 0 ? 0 : mz_result_number(t, 0, (size_t)column);
}

/* From 8 + 16 bytes, of which 16 stay, to 100 that stay. */
static void compare_whole(struct mz_analysis *a, struct mz_analysis *b)
{
	struct mz_compare_options o = {.size = sizeof(o), .by = MZ_COMPARE_WHOLE};
	struct mz_result_table *t = mz_analysis_compare(a, b, &o, NULL);

	CHECK(t);
	if (!t)
		return;
	CHECK_EQ(mz_result_rows(t), 1);
	CHECK(cell(t, "blocks_a") == 2 && cell(t, "blocks_b") == 1);
	CHECK(cell(t, "bytes_a") == 24 && cell(t, "bytes_b") == 100);
	CHECK(cell(t, "peak_bytes_a") == 24 && cell(t, "peak_bytes_b") == 100);
	CHECK(cell(t, "live_bytes_a") == 16 && cell(t, "live_blocks_b") == 1);
	CHECK_EQ(mz_result_find(t, "waste_a"), -ENOENT); /* neither has the bytes given */
	mz_result_free(t);
}

/* What cannot be compared is an error of the call, not of the recordings. */
static void compare_wrong(struct mz_analysis *a, struct mz_analysis *b, int by, const char *sort,
			  int code)
{
	struct mz_compare_options o = {.size = sizeof(o), .by = (uint32_t)by, .sort = sort};
	struct mz_error err = {0};

	CHECK(!mz_analysis_compare(a, b, &o, &err));
	CHECK_EQ(err.code, code);
	CHECK_EQ(mz_analysis_error(a)->code, 0);
}

static void comparisons(void)
{
	char other[64];
	const char *paths[] = {write_trace(), other};
	struct mz_analysis_options layout = {.size = sizeof(layout), .want = MZ_WANT_LAYOUT};
	struct mz_analysis *a, *b, *c;
	struct mz_result_table *t;
	struct mz_error err = {0};

	write_text(other, "malloc(100) = 10\n");
	a = mz_analysis_open(&paths[0], 1, NULL, NULL);
	b = mz_analysis_open(&paths[1], 1, NULL, NULL);
	c = mz_analysis_open(&paths[0], 1, &layout, NULL);
	CHECK(a && b && c);
	if (a && b && c) {
		compare_whole(a, b);
		compare_whole(a, b); /* once more, of what was read */
		compare_wrong(a, b, MZ_COMPARE_OBJECT, NULL, EINVAL);
		compare_wrong(a, b, MZ_COMPARE_BYS, NULL, EINVAL);
		compare_wrong(a, b, MZ_COMPARE_FILE, "nothing", EINVAL);
		compare_wrong(a, b, MZ_COMPARE_FILE, "waste", ENODATA);
		CHECK(!mz_analysis_compare(a, c, NULL, &err));
		CHECK_EQ(err.code, ENODATA); /* no sums were kept */
		t = mz_analysis_compare(a, b, NULL, &err);
		CHECK(t && mz_result_rows(t) == 1 && cell(t, "stacks_a") == 1);
		mz_result_free(t);
	}
	mz_analysis_close(a);
	mz_analysis_close(b);
	mz_analysis_close(c);
	remove(paths[0]);
	remove(other);
}

int main(void)
{
	if (sizeof(void *) == 8) {
		RUN(fixed_structures);
		RUN(growing_structures);
	}
	RUN(numbers);
	RUN(other_sizes);
	RUN(other_summaries);
	RUN(tables);
	RUN(comparisons);
	return test_end();
}
