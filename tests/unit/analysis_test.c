// SPDX-License-Identifier: BSD-2-Clause
/* What a user of the library is told when something is wrong: each time, and about the right call.
 */
#include <errno.h>
#include <memorizer.h>
#include <string.h>
#include <sys/wait.h>
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
	size_t n = t ? mz_result_rows(t) : 0;

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
	fails(a, MZ_ASK_STACK_QUALITY, ENODATA, "'stack-quality'");
	CHECK_EQ(rows(a, MZ_ASK_CLASSES), 1);
	CHECK_EQ(mz_analysis_error(a)->code, 0);
	mz_analysis_close(a);

	a = open_text(good_trace, 0);
	fails(a, MZ_ASK_CLASSES, ENODATA, "'classes'");
	fails(a, MZ_ASK_LAYOUT, ENODATA, "MZ_WANT_LAYOUT");
	fails(a, MZ_ASK_THREADS, ENODATA, "MZ_WANT_THREADS");
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

/* Zeros would pass for sums. */
static void sums_that_were_not_kept(void)
{
	struct mz_totals totals = {.size = sizeof(totals)}, none = {0};
	struct mz_analysis *a = open_text(good_trace, MZ_WANT_LAYOUT);

	CHECK_EQ(mz_analysis_totals(a, &totals), -ENODATA);
	CHECK(strstr(mz_analysis_error(a)->text, "MZ_WANT_SUMS"));
	mz_analysis_close(a);

	a = open_text(good_trace, MZ_WANT_SUMS);
	CHECK_EQ(mz_analysis_totals(a, &none), -EINVAL);
	CHECK(strstr(mz_analysis_error(a)->text, "size"));
	CHECK_EQ(mz_analysis_frame(a, 1, 0, &(struct mz_code_frame){0}), -EINVAL);
	CHECK(strstr(mz_analysis_error(a)->text, "size"));
	CHECK_EQ(mz_analysis_totals(a, NULL), -EINVAL);
	CHECK_EQ(mz_analysis_totals(a, &totals), 0);
	mz_analysis_close(a);
}

static void refuses(struct mz_analysis_options o, int code)
{
	const char *paths[] = {path};
	struct mz_error err = {0};

	o.size = sizeof(o);
	CHECK(!mz_analysis_open(paths, 1, &o, &err));
	CHECK_EQ(err.code, code);
	CHECK(*err.text);
}

static void refuses_writer(struct mz_writer_options o)
{
	struct mz_error err = {0};

	o.overwrite = true;
	CHECK(!mz_writer_open(path, &o, &err));
	CHECK_EQ(err.code, E2BIG);
}

/* What this version does not know is not done silently. */
static void unknown_options(void)
{
	struct mz_compare_options compare = {.size = sizeof(compare), .reserved = 5};
	struct {
		struct mz_verify v;
		void *more;
	} verify = {.v = {.size = sizeof(verify)}, .more = path};
	struct mz_select select = {.reserved = {0, 1}};
	struct mz_error err = {0};
	struct mz_analysis *a;
	struct mz_reader *r;
	struct mz_event ev;

	put(good_trace);
	refuses((struct mz_analysis_options){.want = 1 << 20}, E2BIG);
	refuses((struct mz_analysis_options){.flags = 1 << 20}, E2BIG);
	refuses((struct mz_analysis_options){.no_default_suppressions = 5}, E2BIG);
	refuses((struct mz_analysis_options){.by = 99}, EINVAL);
	CHECK(!mz_reader_open_with(path, 1 << 9, &err) && err.code == E2BIG && errno == E2BIG);
	a = open_text(good_trace, 0);
	err = (struct mz_error){0};
	CHECK(!mz_analysis_compare(a, a, &compare, &err));
	CHECK_EQ(err.code, E2BIG);
	mz_analysis_close(a);
	refuses_writer((struct mz_writer_options){.reserved = {0, 0, 0, 0, 3}});
	refuses_writer((struct mz_writer_options){.drop = 1 << 25});

	mz_writer_close(mz_writer_open(path, &(struct mz_writer_options){.overwrite = true}, NULL),
			NULL);
	CHECK_EQ(mz_verify_file(path, &verify.v, NULL, NULL, NULL), -E2BIG);
	CHECK_EQ(mz_verify_file_with(path, 1 << 9, NULL, NULL, NULL, NULL), -E2BIG);
	verify.more = NULL;
	CHECK_EQ(mz_verify_file(path, &verify.v, NULL, NULL, NULL), 0);
	r = mz_reader_open(path, NULL);
	CHECK_EQ(mz_reader_select(r, &select), -E2BIG);
	CHECK_EQ(mz_reader_error(r)->code, E2BIG);
	CHECK_EQ(mz_reader_summary(r, &(struct mz_summary){0}), -EINVAL);
	CHECK(strstr(mz_reader_error(r)->text, "size"));
	CHECK_EQ(mz_reader_read(r, &ev, 1), 0); /* which these do not concern */
	CHECK_EQ(mz_reader_select(r, &(struct mz_select){0}), -EINVAL);
	CHECK(strstr(mz_reader_error(r)->text, "before the first"));
	mz_reader_close(r);
	put(good_trace);
	r = mz_reader_open(path, NULL);
	CHECK_EQ(mz_reader_select(r, &(struct mz_select){0}), -EINVAL);
	CHECK(strstr(mz_reader_error(r)->text, "container"));
	CHECK_EQ(mz_reader_read(r, &ev, 1), 1);
	mz_reader_close(r);
}

static void nothing_at_all(void)
{
	struct mz_error err = {0}, bad = {0};
	const char *none[] = {NULL};
	struct mz_analysis *a;
	struct mz_writer *w;

	CHECK(!mz_analysis_open(NULL, 1, NULL, &err) && err.code == EINVAL);
	CHECK(!mz_analysis_open(none, 1, NULL, &err));
	CHECK(!mz_reader_open(NULL, NULL));
	CHECK_EQ(mz_verify_file(NULL, NULL, NULL, NULL, NULL), -EINVAL);
	CHECK(!mz_writer_open("", NULL, NULL));
	remove("descriptor");
	CHECK(!mz_writer_open_fd(-1, NULL, NULL, &bad) && bad.code == EBADF);
	CHECK(access("descriptor", F_OK)); /* no file of that name either */
	CHECK_EQ(mz_writer_close(NULL, NULL), -EINVAL);
	a = open_text(good_trace, 0);
	CHECK(!mz_analysis_text(a, NULL) && !mz_analysis_number(a, NULL));
	CHECK(!mz_analysis_stack(a, 1, NULL));
	mz_analysis_close(a);
	w = mz_writer_open(path, &(struct mz_writer_options){.overwrite = true}, NULL);
	CHECK_EQ(mz_writer_set_text(w, NULL, "x"), -EINVAL);
	CHECK_EQ(mz_writer_set_text(w, "key", NULL), -EINVAL);
	mz_writer_abort(w);
}

static uint64_t sum_of(struct mz_analysis *a, enum mz_question q, const char *key)
{
	struct mz_result_table *t = mz_analysis_ask(a, q, NULL, NULL);
	uint64_t sum = 0;

	CHECK(t);
	for (size_t i = 0; t && i < mz_result_rows(t); i++)
		sum += mz_result_number(t, i, (size_t)mz_result_find(t, key));
	mz_result_free(t);
	return sum;
}

/* Blocks without a stack are in the sums, and so they are in the tables. */
static void blocks_without_a_stack(void)
{
	struct mz_totals totals = {.size = sizeof(totals)};
	struct mz_analysis *a =
		open_text("malloc(8) = 10 stack=401000,402000\nmalloc(16) = 20\n", 0);
	struct mz_result_table *t = mz_analysis_ask(a, MZ_ASK_SITES, NULL, NULL);

	CHECK_EQ(mz_analysis_totals(a, &totals), 0);
	CHECK_EQ(totals.bytes, 24);
	CHECK_EQ(sum_of(a, MZ_ASK_STACKS, "bytes"), 24);
	CHECK_EQ(sum_of(a, MZ_ASK_SITES, "bytes"), 24);
	for (int q = MZ_ASK_FUNCTIONS; q <= MZ_ASK_MODULES; q++)
		CHECK_EQ(sum_of(a, (enum mz_question)q, "bytes"), 24);
	CHECK_EQ(rows(a, MZ_ASK_STACK_QUALITY), 0); /* no recorder counted */
	CHECK(t && !strcmp(mz_result_string(t, 0, 0), "(no stack)"));
	mz_result_free(t);
	mz_analysis_close(a);
}

/* A program whose code has no names: nothing matches, and nothing is suppressed. */
static void suppressions(void)
{
	static const char trace[] = "malloc(8) = 10 stack=401000,402000\n"
				    "malloc(16) = 20 stack=403000\n"
				    "malloc(32) = 30 stack=401000,403000\n";
	struct mz_analysis_options o = {.size = sizeof(o), .no_default_suppressions = 1};
	const char *paths[] = {path};
	char rules[4096];
	struct mz_analysis *a;
	struct mz_error err = {0};
	FILE *f;

	put(trace);
	snprintf(rules, sizeof(rules), "%s/rules", folder);
	o.suppressions = rules;
	CHECK(!mz_analysis_open(paths, 1, &o, &err) && err.code == ENOENT);
	f = fopen(rules, "w");
	CHECK(f && fputs("leak:*\n", f) >= 0 && !fclose(f));
	a = mz_analysis_open(paths, 1, &o, NULL);
	CHECK(a);
	CHECK_EQ(rows(a, MZ_ASK_SUPPRESSED), 0); /* there are no names to match */
	CHECK_EQ(sum_of(a, MZ_ASK_SITES, "live_bytes"), 56);
	CHECK_EQ(sum_of(a, MZ_ASK_SITES, "suppressed_bytes"), 0);
	mz_analysis_close(a);
	unlink(rules);
}

static void threads(void)
{
	struct mz_analysis *a = open_text(
		"malloc(8) = 10 tid=1\nmalloc(16) = 20 tid=2\nfree(20) tid=1\n", MZ_WANT_THREADS);
	struct mz_result_table *t = mz_analysis_ask(a, MZ_ASK_THREADS, NULL, NULL);

	CHECK(t && mz_result_rows(t) == 2);
	CHECK(t && !strcmp(mz_result_string(t, 0, 0), "thread 2"));
	mz_result_free(t);
	CHECK_EQ(sum_of(a, MZ_ASK_THREADS, "bytes"), 24);
	CHECK_EQ(sum_of(a, MZ_ASK_THREADS, "live_bytes"), 8);
	CHECK_EQ(sum_of(a, MZ_ASK_SITES, "bytes"), 24); /* threads need the sums */
	mz_analysis_close(a);
}

/* The counts are the recorder's, and what has no stack is counted here. */
static void stack_quality(void)
{
	static const char *const keys[] = {"blocks", "rooted", "cut", "guessed", "without"};
	struct mz_writer *w =
		mz_writer_open(path, &(struct mz_writer_options){.overwrite = true}, NULL);
	struct mz_event ev[3];
	struct mz_analysis *a;
	const char *paths[] = {path};

	for (size_t i = 0; i < 3; i++)
		ev[i] = (struct mz_event){.kind = MZ_ALLOC,
					  .call = MZ_CALL_MALLOC,
					  .object = i + 1,
					  .size = 8,
					  .site = i ? 0 : mz_writer_stack(w, (uint64_t[]){7}, 1),
					  .has = i ? 0 : MZ_HAS_SITE};
	mz_writer_set_number(w, "stacks.blocks", 40);
	mz_writer_set_number(w, "stacks.rooted", 30);
	mz_writer_set_number(w, "stacks.cut", 20);
	mz_writer_set_number(w, "stacks.guessed", 10);
	CHECK(!mz_writer_add(w, ev, 3) && !mz_writer_close(w, NULL));
	a = mz_analysis_open(paths, 1, NULL, NULL);
	CHECK(a);
	for (size_t i = 0; a && i < 5; i++)
		CHECK_EQ(sum_of(a, MZ_ASK_STACK_QUALITY, keys[i]), i < 4 ? 40 - 10 * i : 2);
	mz_analysis_close(a);
}

/* Files of sums say what was lost, and have no threads. */
static void files_of_sums(void)
{
	struct mz_analysis *a = open_text("allocinfo - version: 1.0\n"
					  "#     <size>  <calls> <tag info>\n"
					  "        4096        1 mm/x.c:10 func:y\n",
					  MZ_WANT_THREADS);

	CHECK_EQ(mz_analysis_kind(a), MZ_RECORDING_SUMS);
	CHECK_EQ(rows(a, MZ_ASK_LOSS), 0);
	fails(a, MZ_ASK_THREADS, ENODATA, "only sums");
	mz_analysis_close(a);
}

/* The allocator of a sanitizer may be locked by a thread that a forked child does not have. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_FORK false
#else
#define CAN_FORK true
#endif

#define CHUNKS	     6
#define CHUNK_EVENTS 40000 /* a thread that decodes the next chunk is busy for a while */

static void write_chunks(void)
{
	struct mz_writer_options o = {.overwrite = true, .chunk_events = CHUNK_EVENTS};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);

	for (uint64_t i = 0; i < CHUNKS * CHUNK_EVENTS; i++) {
		struct mz_event ev = {.kind = MZ_ALLOC,
				      .call = MZ_CALL_MALLOC,
				      .has = MZ_HAS_ADDR,
				      .object = i + 1,
				      .addr = 0x1000 + i * 16,
				      .size = 8};

		CHECK_EQ(mz_writer_add(w, &ev, 1), 0);
	}
	CHECK_EQ(mz_writer_close(w, NULL), 0);
}

/* What a forked child does with its parent's analysis: whether there is a thread or not, it ends.
 */
static int read_in_child(struct mz_analysis *a)
{
	pid_t child = fork();
	struct mz_event ev;
	int status = -1, ret = 1;

	if (child) {
		waitpid(child, &status, 0);
		return status;
	}
	alarm(600); /* a wait that would never end */
	while (ret > 0)
		ret = mz_analysis_next(a, &ev);
	ret = ret && (ret != -EBADF || !strstr(mz_analysis_error(a)->text, "forked"));
	mz_analysis_close(a);
	_exit(ret);
}

static void forked(void)
{
	const char *paths[] = {path};
	struct mz_event ev;

	write_chunks();
	for (uint64_t n = 1; n < CHUNKS * CHUNK_EVENTS; n += CHUNK_EVENTS) {
		struct mz_analysis *a = mz_analysis_open(paths, 1, NULL, NULL);
		uint64_t all = n;

		for (uint64_t i = 0; i < n; i++)
			CHECK_EQ(mz_analysis_next(a, &ev), 1);
		CHECK_EQ(read_in_child(a), 0);
		while (mz_analysis_next(a, &ev) > 0)
			all++;
		CHECK_EQ(all, CHUNKS * CHUNK_EVENTS); /* the parent's is as it was */
		mz_analysis_close(a);
	}
}

int main(void)
{
	test_folder(folder, path, "recording");
	RUN(damaged_maps);
	RUN(damaged_traces);
	RUN(questions_that_do_not_fit);
	RUN(maps_that_go_away);
	RUN(sums_that_were_not_kept);
	RUN(blocks_without_a_stack);
	RUN(suppressions);
	RUN(threads);
	RUN(stack_quality);
	RUN(files_of_sums);
	RUN(unknown_options);
	RUN(nothing_at_all);
	if (CAN_FORK)
		RUN(forked);
	unlink(path);
	rmdir(folder);
	return test_end();
}
