// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fills a store with copies of one recording: storefill STORE RECORDING COPIES REVISIONS.
 * Six of ten values are those of the recording, the others within 10 % of them. Prints the
 * rows, and the seconds that a sender takes: the median of a copy times the copies, so that
 * other work on the machine does not count; then its user and system time, the same way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/send.h"
#include "tests/unit/random.h"

#define DAY 86400000ull

static uint64_t state = 1;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The values of a table: from the column "blocks" to the last. */
static void shake(struct mz_store_rows *to, const struct mz_store_rows *from,
		  enum mz_store_table table)
{
	size_t first = mz_store_column(table, "blocks");

	to->n = from->n;
	for (size_t c = 0; c < mz_store_schema[table].n; c++) {
		const uint64_t *x = (const uint64_t *)(const void *)from->column[c].data;

		to->column[c].len = 0;
		if (c < first || table == MZ_STORE_RECORDING) {
			mz_buf_add(&to->column[c], from->column[c].data, from->column[c].len);
			continue;
		}
		for (size_t i = 0; i < from->n; i++)
			mz_store_put_u64(to, c,
					 random_below(&state, 10) < 6
						 ? x[i]
						 : x[i] * (900 + random_below(&state, 200)) / 1000);
	}
}

static void set_text(struct mz_store_rows *rows, const char *column, const char *text)
{
	size_t c = mz_store_column(MZ_STORE_RECORDING, column);

	rows->column[c].len = 0;
	mz_store_put_text(rows, c, text, strlen(text));
}

static void set_number(struct mz_store_rows *rows, const char *column, uint64_t v)
{
	size_t c = mz_store_column(MZ_STORE_RECORDING, column);

	rows->column[c].len = 0;
	mz_store_put_u64(rows, c, v);
}

static void make_copy(struct mz_store_item *to, const struct mz_store_item *from, unsigned i,
		      unsigned copies, unsigned revisions, uint64_t now)
{
	struct mz_store_rows *own = &to->rows[MZ_STORE_RECORDING];
	uint64_t time = now - 90 * DAY + 90 * DAY * i / copies;
	char text[64];

	shake(&to->rows[MZ_STORE_PROFILE], &from->rows[MZ_STORE_PROFILE], MZ_STORE_PROFILE);
	shake(&to->rows[MZ_STORE_SITE], &from->rows[MZ_STORE_SITE], MZ_STORE_SITE);
	shake(own, &from->rows[MZ_STORE_RECORDING], MZ_STORE_RECORDING);
	snprintf(to->digest, sizeof(to->digest), "%08x%024x", i * 2654435761u, i);
	snprintf(text, sizeof(text), "rev%u", i * revisions / copies);
	to->day = time / DAY;
	set_text(own, "digest", to->digest);
	set_text(own, "revision", text);
	set_number(own, "time", time);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static uint64_t now(void)
{
	return (uint64_t)time(NULL) * 1000;
}

int main(int argc, char **argv)
{
	struct mz_store_item real, copy = {0};
	struct mz_store_about about = {.program = "fill"};
	struct mz_store_sending how = {.tries = 3, .now = now};
	struct mz_recording r;
	struct mz_error err = {0};
	struct mz_store s;
	double *spent, *worked;
	uint64_t rows = 0;
	int ret, n = argc == 5 ? atoi(argv[3]) : 0;

	spent = calloc((size_t)n + 1, sizeof(*spent));
	worked = calloc((size_t)n + 1, sizeof(*worked));
	if (n < 1 || !spent || !worked)
		return 2;
	about.now = now();
	ret = mz_recording_open(&r, &argv[2], 1, NULL, &err);
	if (!ret)
		ret = mz_store_item_make(&real, &r, argv[2], &about, &err);
	if (!ret)
		ret = mz_store_open(&s, argv[1], NULL, true, &err);
	if (!ret) {
		memcpy(copy.rows, real.rows, sizeof(copy.rows));
		memset(&copy.rows[MZ_STORE_PROFILE], 0, sizeof(*copy.rows));
		memset(&copy.rows[MZ_STORE_SITE], 0, sizeof(*copy.rows));
		memset(&copy.rows[MZ_STORE_RECORDING], 0, sizeof(*copy.rows));
		copy.program = real.program;
	}
	for (int i = 0; i < n && ret >= 0; i++) {
		double start, work;

		make_copy(&copy, &real, (unsigned)i, (unsigned)n, (unsigned)atoi(argv[4]),
			  about.now);
		start = seconds(CLOCK_MONOTONIC);
		work = seconds(CLOCK_PROCESS_CPUTIME_ID);
		ret = mz_store_send(&s, &copy, &how, &err);
		spent[i] = seconds(CLOCK_MONOTONIC) - start;
		worked[i] = seconds(CLOCK_PROCESS_CPUTIME_ID) - work;
		rows += copy.rows[MZ_STORE_PROFILE].n;
	}
	if (ret < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	mz_store_close(&s);
	qsort(spent, (size_t)n, sizeof(*spent), by_size);
	qsort(worked, (size_t)n, sizeof(*worked), by_size);
	printf("%llu %.3f %.3f\n", (unsigned long long)rows, spent[n / 2] * n, worked[n / 2] * n);
	return 0;
}
