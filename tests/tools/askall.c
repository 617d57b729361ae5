// SPDX-License-Identifier: BSD-2-Clause
/* Puts every question of the library to recordings, twice and in odd orders: askall PATH... */
/*
 * Each answer must be a table or an error with a code and a text, and the same however often and in
 * whatever order it is asked for: a new analysis that is asked nothing else is the witness. What is
 * optional is left out. The questions are those that the library names. Prints what is wrong, and
 * for each recording how many answers and errors there were.
 */
#include <errno.h>
#include <fcntl.h>
#include <memorizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path; /* of the recording at hand */
static unsigned wrong, answers, refusals;

#define WANT(condition, ...)                                                                       \
	do {                                                                                       \
		if (condition)                                                                     \
			break;                                                                     \
		printf("%s: line %d: ", path, __LINE__);                                           \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		wrong++;                                                                           \
	} while (0)

struct asked_answer {
	uint64_t digest; /* of a table, or of an error's text */
	int code;	 /* 0 = a table */
};

static uint64_t add(uint64_t digest, const void *data, size_t n)
{
	for (const unsigned char *p = data; n--; p++)
		digest = (digest ^ *p) * 0x100000001b3;
	return digest;
}

static uint64_t digest_of(const struct mz_result_table *t)
{
	uint64_t digest = 0xcbf29ce484222325;

	WANT(mz_result_name(t) && mz_result_heading(t), "a table has no name");
	for (size_t c = 0; c < mz_result_columns(t); c++) {
		const char *key = mz_result_key(t, c);

		WANT(key && mz_result_title(t, c), "column %zu has no name", c);
		WANT(mz_result_find(t, key) == (int)c, "column '%s' is not found", key);
		digest = add(digest, key, strlen(key));
		for (size_t r = 0; r < mz_result_rows(t); r++) {
			uint64_t number = mz_result_number(t, r, c);
			double share = mz_result_share(t, r, c);
			const char *text = mz_result_string(t, r, c);

			digest = add(digest, &number, sizeof(number));
			digest = add(digest, &share, sizeof(share));
			digest = add(digest, text, strlen(text));
		}
	}
	WANT(mz_result_find(t, "no such") == -ENOENT && mz_result_find(t, NULL) == -ENOENT,
	     "a column that does not exist was found");
	WANT(!mz_result_key(t, mz_result_columns(t)) && mz_result_type_of(t, 999) == -EINVAL &&
		     !*mz_result_string(t, mz_result_rows(t), 0),
	     "a cell outside of the table was found");
	return digest;
}

static uint64_t check_error(const struct mz_error *e, const char *of)
{
	WANT(e->code > 0 && *e->text && !strchr(e->text, '\n'), "%s failed with code %d, '%s'", of,
	     e->code, e->text);
	return add(0, e->text, strlen(e->text));
}

static struct asked_answer ask(struct mz_analysis *a, enum mz_question q, const char *pattern)
{
	struct mz_error e = {0};
	struct mz_result_table *t = mz_analysis_ask(a, q, pattern, &e);
	struct asked_answer answer = {.code = e.code};
	char of[80];

	snprintf(of, sizeof(of), "'%s' of '%s'", mz_question_name(q), pattern ? pattern : "all");
	if (t) {
		WANT(!e.code, "%s: a table and an error", of);
		answer.digest = digest_of(t);
		answers++;
	} else {
		answer.digest = check_error(&e, of);
		WANT(mz_analysis_error(a)->code == e.code, "%s: two errors", of);
		refusals++;
	}
	mz_result_free(t);
	return answer;
}

static void same(struct asked_answer got, struct asked_answer want, enum mz_question q,
		 const char *how)
{
	WANT(got.code == want.code && got.digest == want.digest,
	     "'%s': another answer %s (%d, not %d)", mz_question_name(q), how, got.code, want.code);
}

static struct mz_analysis *open_it(const struct mz_analysis_options *o)
{
	struct mz_error e = {0};
	struct mz_analysis *a = mz_analysis_open(&path, 1, o, &e);

	if (!a)
		check_error(&e, "opening");
	return a;
}

#define QUESTIONS 256 /* more than there will be */

/* The witness of each question, which it is then asked again. */
static unsigned ask_alone(const struct mz_analysis_options *o, const char *pattern,
			  struct asked_answer want[QUESTIONS])
{
	unsigned n = 0;

	for (; n < QUESTIONS && mz_question_name(n); n++) {
		struct mz_analysis *a = open_it(o);

		if (!a)
			return 0;
		want[n] = ask(a, n, pattern);
		same(ask(a, n, pattern), want[n], n, "the second time");
		mz_analysis_close(a);
	}
	return n;
}

static void ask_in_turn(const struct mz_analysis_options *o, const char *pattern)
{
	struct asked_answer want[QUESTIONS];
	unsigned n = ask_alone(o, pattern, want);
	struct mz_analysis *a = n ? open_it(o) : NULL;
	struct mz_error e = {0};

	for (unsigned i = 0; a && i < n; i++)
		same(ask(a, i, pattern), want[i], i, "after the ones before it");
	for (unsigned i = n; a && i-- > 0;)
		same(ask(a, i, pattern), want[i], i, "after all others");
	if (a) {
		WANT(!mz_analysis_ask(a, n, pattern, &e) && e.code == EINVAL, "one too many");
		WANT(!mz_analysis_ask(a, n, pattern, NULL), "one too many");
	}
	mz_analysis_close(a);
}

/* The events one by one, and questions about each, up to the end and beyond. */
static void walk(const struct mz_analysis_options *o)
{
	struct mz_code_frame frame = {.size = sizeof(frame)}, none = {0};
	struct mz_analysis *a = open_it(o);
	struct mz_event ev;
	uint64_t events = 0;
	int ret;

	if (!a)
		return;
	while ((ret = mz_analysis_next(a, &ev)) > 0 && events++ < 2000) {
		const uint64_t *ips = mz_analysis_stack(a, ev.site, NULL);

		mz_analysis_string(a, ev.cache, NULL);
		if (ev.kind == MZ_MARK)
			mz_analysis_string(a, (uint32_t)ev.arg, NULL);
		if (ips && events < 20) {
			WANT(mz_analysis_frame(a, *ips, 0, &frame) == 1, "no frame");
			WANT(mz_analysis_frame(a, *ips, 0, &none) == -EINVAL, "no size");
			WANT(mz_analysis_frame(a, *ips, 0, NULL) == -EINVAL, "no frame to fill");
		}
	}
	if (ret < 0)
		check_error(mz_analysis_error(a), "the next event");
	WANT(!mz_analysis_stack(a, UINT32_MAX, NULL) && !mz_analysis_string(a, UINT32_MAX, NULL) &&
		     !mz_analysis_string(a, 0, NULL),
	     "a number that nobody gave has a value");
	ret = mz_analysis_run(a);
	WANT(mz_analysis_run(a) == ret, "the second run ends otherwise");
	WANT(mz_analysis_next(a, &ev) <= 0, "an event after the end");
	mz_analysis_close(a);
}

static void sums(const struct mz_analysis_options *o)
{
	struct mz_totals t = {.size = sizeof(t)}, again = {.size = sizeof(t)}, none = {0};
	struct mz_compare_options by = {.size = sizeof(by), .sort = "no such value"};
	struct mz_analysis *a = open_it(o), *b = a ? open_it(o) : NULL;
	struct mz_result_table *diff;
	struct mz_error e = {0};
	int ret;

	if (!b) {
		mz_analysis_close(a);
		return;
	}
	ret = mz_analysis_totals(a, &t);
	if (ret < 0)
		check_error(mz_analysis_error(a), "totals");
	WANT(mz_analysis_totals(a, &again) == ret && !memcmp(&t, &again, sizeof(t)),
	     "other totals the second time");
	WANT(mz_analysis_totals(a, &none) < 0 && mz_analysis_totals(a, NULL) < 0,
	     "totals without a size");
	WANT(!mz_analysis_text(a, NULL) && !mz_analysis_number(a, NULL) &&
		     !mz_analysis_text(a, "no such") && !mz_analysis_number(a, "no such"),
	     "an attribute that does not exist");
	diff = mz_analysis_compare(a, b, NULL, &e);
	if (!diff)
		check_error(&e, "comparing");
	mz_result_free(diff);
	WANT(!mz_analysis_compare(a, b, &by, NULL), "sorted by nothing");
	diff = mz_analysis_compare(a, a, NULL, NULL);
	mz_result_free(diff);
	mz_analysis_close(b);
	mz_analysis_close(a);
}

/* ---- as a trace ------------------------------------------------------------------------- */

/* Takes over r. The digest of its events; 0: it cannot be opened. */
static uint64_t read_all(struct mz_reader *r, const struct mz_error *e)
{
	struct mz_summary s = {.size = sizeof(s)}, none = {0};
	struct mz_select select = {0};
	uint64_t digest = 1;
	struct mz_event ev[64];
	long n;

	if (!r) {
		if (e)
			check_error(e, "opening");
		return 0;
	}
	if (mz_reader_summary(r, &s) < 0)
		check_error(mz_reader_error(r), "the summary");
	WANT(mz_reader_summary(r, &none) < 0 && mz_reader_summary(r, NULL) < 0, "no size");
	mz_reader_select(r, &select);
	WANT(mz_reader_select(r, NULL) < 0, "nothing was selected");
	WANT(!mz_reader_attr(r, mz_reader_attrs(r)) && !mz_reader_find_attr(r, "no such") &&
		     !mz_reader_find_attr(r, NULL),
	     "an attribute that does not exist");
	while ((n = mz_reader_read(r, ev, 64)) > 0)
		digest = add(digest, ev, (size_t)n * sizeof(*ev));
	if (n < 0)
		check_error(mz_reader_error(r), "reading");
	digest = add(digest, &n, sizeof(n)); /* not the text, which has a name */
	WANT(mz_reader_read(r, ev, 64) == n, "it ends otherwise the second time");
	for (uint32_t i = 0; i <= mz_tables_strings(mz_reader_tables(r)) + 1; i++)
		mz_tables_get_string(mz_reader_tables(r), i, NULL);
	for (uint32_t i = 0; i <= mz_tables_stacks(mz_reader_tables(r)) + 1; i++)
		mz_tables_get_stack(mz_reader_tables(r), i, NULL);
	mz_reader_close(r);
	return digest;
}

static void as_trace(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct mz_error e = {0};
	uint64_t want = read_all(mz_reader_open(path, &e), &e);
	struct stat st;
	char *data;
	size_t n;

	WANT(read_all(mz_reader_open(path, NULL), NULL) == want, "other events the second time");
	mz_verify_file(path, NULL, NULL, NULL, NULL);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return;
	}
	e = (struct mz_error){0};
	WANT(read_all(mz_reader_open_fd(fd, NULL, &e), &e) == want, "other events by descriptor");
	data = malloc((size_t)st.st_size + 1);
	n = (size_t)pread(fd, data, (size_t)st.st_size, 0);
	e = (struct mz_error){0};
	WANT(read_all(mz_reader_open_memory(n ? data : NULL, n, NULL, &e), &e) == want,
	     "other events in memory");
	free(data);
	close(fd);
}

/* ---- without a recording -------------------------------------------------------------- */

static void of_nothing(void)
{
	struct mz_error e = {0};
	struct mz_tables *t = mz_tables_new();

	path = "nothing";
	mz_reader_close(NULL);
	mz_analysis_close(NULL);
	mz_result_free(NULL);
	mz_tables_free(NULL);
	mz_writer_abort(NULL);
	WANT(mz_writer_close(NULL, NULL) < 0, "no writer was closed");
	WANT(!mz_reader_open(NULL, &e) && e.code == EINVAL, "no path");
	WANT(!mz_reader_open_fd(-1, NULL, NULL), "no descriptor");
	WANT(!mz_reader_open_memory(NULL, 8, NULL, NULL), "no memory");
	WANT(mz_verify_file(NULL, NULL, NULL, NULL, NULL) < 0, "no file");
	WANT(!mz_analysis_open(NULL, 0, NULL, NULL) && !mz_analysis_open(NULL, 1, NULL, NULL) &&
		     !mz_analysis_open(&(const char *){NULL}, 1, NULL, NULL),
	     "no recording");
	WANT(mz_tables_string(t, NULL, 0) == mz_tables_string(t, "", 0), "no string");
	mz_tables_stack(t, NULL, 0);
	mz_tables_free(t);
}

/* A writer that is used in vain still writes a sound file. */
static void write_one(const char *to)
{
	struct mz_writer *w = mz_writer_open(to, NULL, NULL);
	struct mz_event ev = {.kind = MZ_ALLOC, .call = MZ_CALL_FREE};

	path = to;
	WANT(w, "it cannot be written");
	if (!w)
		return;
	WANT(mz_writer_set_text(w, NULL, "x") == -EINVAL && mz_writer_set_text(w, "", "x") < 0 &&
		     mz_writer_set_bytes(w, NULL, NULL, 0) == -EINVAL &&
		     mz_writer_set_number(w, NULL, 1) == -EINVAL,
	     "a key that is none");
	mz_writer_set_text(w, "text", NULL);
	mz_writer_set_bytes(w, "bytes", NULL, 0);
	mz_writer_string(w, NULL, 0);
	mz_writer_stack(w, NULL, 0);
	WANT(!mz_writer_add(w, NULL, 0), "no events");
	WANT(mz_writer_add(w, &ev, 1) == -EINVAL, "an event that contradicts itself");
	WANT(!mz_writer_flush(w) && !mz_writer_flush(w), "flushed twice");
	WANT(!mz_writer_close(w, NULL), "it is not complete");
	WANT(!mz_verify_file(to, NULL, NULL, NULL, NULL), "it is not sound");
}

int main(int argc, char **argv)
{
	static const char *const patterns[] = {NULL, "*", "no such thing"};
	const uint32_t all = MZ_WANT_SUMS | MZ_WANT_TIMELINE | MZ_WANT_LAYOUT;

	of_nothing();
	write_one("written.cmt");
	for (int i = 1; i < argc; i++) {
		struct mz_analysis_options o = {.size = sizeof(o)};

		path = argv[i];
		answers = refusals = 0;
		as_trace();
		for (o.want = 0; o.want <= all; o.want += all) {
			walk(&o);
			sums(&o);
			for (int p = 0; p < 3; p++)
				ask_in_turn(&o, patterns[p]);
		}
		for (o.by = MZ_KMAP_BY_FILE; o.by <= MZ_KMAP_BY_SITE; o.by++)
			ask_in_turn(&o, NULL);
		printf("# %s: %u answers, %u errors\n", path, answers, refusals);
	}
	return wrong != 0;
}
