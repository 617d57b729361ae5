// SPDX-License-Identifier: BSD-2-Clause
/* What a user of the library is told when something is wrong: each time, and about the right call.
 */
#include <errno.h>
#include <memorizer.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"

static char folder[] = "/tmp/analysis_test.XXXXXX";
static char path[64];

static const char good_map[] = "ffffffff81000010,7,ffff888000001000,8,1,0,0,KMALLOC,sh,kmalloc-8\n"
			       "  ffffffff81000020,3,4\n";
static const char bad_map[] =
	"ffffffff81000010,7,ffff888000001000,8,1,0,0,KMALLOC,sh,kmalloc-8\n"
	"  ffffffff81000020,3,4\n"
	"  nonsense,1,2\n"
	"ffffffff81000010,7,ffff888000002000,16,1,0,0,KMALLOC,sh,kmalloc-16\n";
static const char bad_trace[] = "malloc(8) = 10\nmalloc(16) = 20\nnonsense\nfree(10)\n";
static const char good_trace[] = "malloc(8) = 10\nmalloc(16) = 20\nfree(10)\n";

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static struct mz_analysis *open_text(const char *text, uint32_t want)
{
	struct mz_analysis_options o = {.size = sizeof(o), .want = want, .by = MZ_KMAP_BY_SITE};
	const char *paths[] = {path};
	struct mz_analysis *a;

	put(text);
	a = mz_analysis_open(paths, 1, &o, NULL);
	CHECK(a);
	if (!a)
		exit(1);
	return a;
}

/* The question fails with this code and a text that contains this; the handle says the same. */
static void fails(struct mz_analysis *a, enum mz_question q, int code, const char *text)
{
	struct mz_error err = {0};
	struct mz_result_table *t = mz_analysis_ask(a, q, NULL, &err);

	CHECK(!t);
	CHECK_EQ(err.code, code);
	CHECK(strstr(err.text, text));
	CHECK_EQ(mz_analysis_error(a)->code, code);
	CHECK(strstr(mz_analysis_error(a)->text, text));
	mz_result_free(t);
}

static size_t rows(struct mz_analysis *a, enum mz_question q)
{
	struct mz_result_table *t = mz_analysis_ask(a, q, NULL, NULL);
	size_t n = mz_result_rows(t);

	CHECK(t);
	mz_result_free(t);
	return n;
}

/* Half a map is no answer, the second time as the first. */
static void damaged_maps(void)
{
	struct mz_analysis *a = open_text(bad_map, 0), *b;
	struct mz_error err = {0};

	for (int i = 0; i < 2; i++)
		fails(a, MZ_ASK_CLASSES, EINVAL, "line 3");
	fails(a, MZ_ASK_UNUSED, EINVAL, "line 3"); /* at another level */
	CHECK_EQ(mz_analysis_number(a, "accesses"), 0);
	CHECK(!mz_analysis_compare(a, a, NULL, &err) && strstr(err.text, "line 3"));
	mz_analysis_close(a);

	a = open_text(bad_map, 0);
	b = open_text(bad_map, 0);
	for (int i = 0; i < 2; i++) {
		err = (struct mz_error){0};
		CHECK(!mz_analysis_compare(a, b, NULL, &err) && strstr(err.text, "line 3"));
	}
	fails(a, MZ_ASK_CLASSES, EINVAL, "line 3");
	mz_analysis_close(a);
	mz_analysis_close(b);
}

static void damaged_traces(void)
{
	struct mz_totals totals = {.size = sizeof(totals)};
	struct mz_analysis *a = open_text(bad_trace, 0);
	struct mz_event ev;

	for (int i = 0; i < 2; i++)
		fails(a, MZ_ASK_SITES, EINVAL, "line 3");
	fails(a, MZ_ASK_CLASSES, ENODATA, "only be asked of a KMAP");
	CHECK_EQ(mz_analysis_totals(a, &totals), -EINVAL);
	CHECK(strstr(mz_analysis_error(a)->text, "line 3"));
	CHECK_EQ(mz_analysis_next(a, &ev), -EINVAL);
	CHECK_EQ(mz_analysis_run(a), -EINVAL);
	mz_analysis_close(a);
}

/* What one call cannot do says nothing about the next one. */
static void questions_that_do_not_fit(void)
{
	struct mz_totals totals = {.size = sizeof(totals)};
	struct mz_analysis *a = open_text(good_map, 0);
	struct mz_event ev;

	CHECK_EQ(mz_analysis_totals(a, &totals), -ENODATA);
	CHECK(strstr(mz_analysis_error(a)->text, "no totals"));
	CHECK_EQ(mz_analysis_next(a, &ev), -ENODATA);
	CHECK(strstr(mz_analysis_error(a)->text, "no events"));
	fails(a, MZ_ASK_TOUCHED, EINVAL, "needs the name of a function");
	fails(a, MZ_ASK_PRIVILEGE, EINVAL, "privilege is measured by folder");
	fails(a, MZ_ASK_SITES, ENODATA, "'sites'");
	CHECK_EQ(rows(a, MZ_ASK_CLASSES), 1);
	CHECK_EQ(mz_analysis_error(a)->code, 0);
	mz_analysis_close(a);

	a = open_text(good_trace, 0);
	fails(a, MZ_ASK_CLASSES, ENODATA, "'classes'");
	fails(a, MZ_ASK_LAYOUT, ENODATA, "MZ_WANT_LAYOUT");
	CHECK_EQ(mz_analysis_next(a, &ev), 1);
	CHECK_EQ(mz_analysis_totals(a, &totals), 0);
	CHECK_EQ(totals.events, 3);
	mz_analysis_close(a);
}

/* A question at another level reads the map again. If it is gone, the last answer stays. */
static void maps_that_go_away(void)
{
	struct mz_analysis *a = open_text(good_map, 0);

	CHECK_EQ(rows(a, MZ_ASK_CLASSES), 1);
	CHECK_EQ(mz_analysis_number(a, "accesses"), 1);
	unlink(path);
	fails(a, MZ_ASK_ACCESSORS, ENOENT, "No such file");
	CHECK_EQ(rows(a, MZ_ASK_CLASSES), 1);
	CHECK_EQ(mz_analysis_number(a, "accesses"), 1);
	put(good_map);
	CHECK_EQ(rows(a, MZ_ASK_ACCESSORS), 1);
	mz_analysis_close(a);
}

int main(void)
{
	test_folder(folder, path, "recording");
	RUN(damaged_maps);
	RUN(damaged_traces);
	RUN(questions_that_do_not_fit);
	RUN(maps_that_go_away);
	unlink(path);
	rmdir(folder);
	return test_end();
}
