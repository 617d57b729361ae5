// SPDX-License-Identifier: BSD-2-Clause
/* Conversions of traces and logs: what they write, what they count and what they refuse; and
 * each of their allocations fails once. */
#include <memorizer.h>
#include <stdio.h>

#include "base/input.h"
#include "export/log_text.h"
#include "export/transcode.h"
#include "tests/unit/faults.h"

static char folder[] = "/tmp/memorizer-convert-XXXXXX";

/* Is this what the file holds? It is removed. */
static bool holds(const char *path, const char *want)
{
	char got[4096];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(got, 1, sizeof(got), f) : 0;

	if (f)
		fclose(f);
	unlink(path);
	return f && n == strlen(want) && !memcmp(got, want, n);
}

/* ---- traces ----------------------------------------------------------------- */

static const char trace[] = "malloc(26) = 1000 time=5 cache=c stack=10,7\n"
			    "realloc(1000, 50) = 2000 time=6 stack=10,8\n"
			    "free(2000) time=7\n"
			    "free(3000) time=8\n";
static struct mz_transcode_options to;
static struct mz_transcode_counts counts;
static struct mz_error error;

static int transcode(void)
{
	struct mz_reader *r;
	int ret;

	error = (struct mz_error){0};
	to.output = out_path;
	to.overwrite = true;
	r = mz_reader_open_memory(trace, strlen(trace), "memory", &error);
	if (!r)
		return -error.code;
	ret = mz_transcode(r, &to, &counts, &error);
	mz_reader_close(r);
	return ret;
}

static void text_keeps_all_that_is_not_dropped(void)
{
	to = (struct mz_transcode_options){.to = MZ_FORMAT_TEXT};
	CHECK_EQ(transcode(), 0);
	CHECK(holds(out_path, trace));
	CHECK_EQ(counts.events, 4);
	CHECK_EQ(counts.lost, 0);
	to.drop = MZ_HAS_TIME | MZ_HAS_SITE | MZ_HAS_CACHE;
	CHECK_EQ(transcode(), 0);
	CHECK(holds(out_path, "malloc(26) = 1000\nrealloc(1000, 50) = 2000\nfree(2000)\n"
			      "free(3000)\n"));
}

static void a_container_reads_as_the_trace(void)
{
	struct mz_event ev[8];
	struct mz_reader *r;

	to = (struct mz_transcode_options){.to = MZ_FORMAT_CONTAINER, .kernel = true};
	CHECK_EQ(transcode(), 0);
	r = mz_reader_open(out_path, &error);
	CHECK(r && mz_reader_find_attr(r, "source") &&
	      !strcmp(mz_reader_find_attr(r, "source")->data, "kmemtrace"));
	CHECK_EQ(r ? mz_reader_read(r, ev, 8) : 0, 4);
	CHECK_EQ(ev[1].size, 50);
	CHECK_EQ(ev[3].time, 8);
	mz_reader_close(r);
	unlink(out_path);
}

static void classic_names_what_it_cannot_hold(void)
{
	to = (struct mz_transcode_options){.to = MZ_FORMAT_CLASSIC};
	CHECK_EQ(transcode(), -EINVAL);
	CHECK(strstr(error.text, "memory: line 4: ") && error.line == 4);
	CHECK(access(out_path, F_OK));
	to.skip_unmatched = true;
	CHECK_EQ(transcode(), 0);
	CHECK_EQ(counts.skipped[MZ_CLASSIC_UNKNOWN], 1);
	CHECK_EQ(counts.skipped[MZ_CLASSIC_FITS], 3);
	unlink(out_path);
}

static void keep(void *arg, uint64_t events)
{
	*(uint64_t *)arg = events;
}

static void progress_is_told(void)
{
	uint64_t seen = 0;

	to = (struct mz_transcode_options){.to = MZ_FORMAT_TEXT, .progress = keep, .arg = &seen};
	CHECK_EQ(transcode(), 0);
	CHECK_EQ(seen, 4);
	unlink(out_path);
}

/* ---- logs --------------------------------------------------------------------- */

static const char kdump[] = " 7 a USER  0x1000 = malloc(26)\n"
			    " 8 b USER  0x1000 = malloc(27)\n"
			    " 7 a USER  free(0x1000)\n";
static struct mz_log_text_options log_to;
static struct mz_log_processes procs;

static int write_log(void)
{
	struct mz_input in;
	struct mz_log log = {.in = &in};
	int ret;

	error = (struct mz_error){0};
	log_to.output = out_path;
	ret = mz_input_memory(&in, kdump, strlen(kdump), "log", &error);
	if (ret < 0)
		return ret;
	ret = mz_log_write_text(&log, &log_to, &procs, &error);
	mz_input_close(&in);
	return ret;
}

static int log_of_one(void)
{
	int ret = write_log();

	mz_log_processes_deinit(&procs);
	return ret;
}

static void one_file_per_process(void)
{
	char path[96];

	log_to = (struct mz_log_text_options){.split = true};
	CHECK_EQ(write_log(), 0);
	CHECK(procs.n == 2 && procs.files == 2);
	CHECK(procs.n == 2 && procs.v[0].pid == 7 && procs.v[0].events == 2);
	mz_log_processes_deinit(&procs);
	snprintf(path, sizeof(path), "%s.7.trace", out_path);
	CHECK(holds(path, "malloc(26) = 0x1000\nfree(0x1000)\n"));
	snprintf(path, sizeof(path), "%s.8.trace", out_path);
	CHECK(holds(path, "malloc(27) = 0x1000\n"));
	log_to.split = false;
	CHECK_EQ(log_of_one(), -EINVAL);
	CHECK(strstr(error.text, "log: events of 2 processes: 7 (2), 8 (1); "));
	CHECK(access(out_path, F_OK));
	log_to.pid = 8;
	CHECK_EQ(log_of_one(), 0);
	CHECK(holds(out_path, "malloc(27) = 0x1000\n"));
	log_to.pid = 9;
	CHECK_EQ(log_of_one(), -ESRCH);
}

/* ---- without memory --------------------------------------------------------------- */

static void every_allocation(void)
{
	static const enum mz_format formats[] = {MZ_FORMAT_CONTAINER, MZ_FORMAT_TEXT,
						 MZ_FORMAT_CLASSIC};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		to = (struct mz_transcode_options){.to = formats[i], .skip_unmatched = true};
		try_all(mz_format_name(to.to), transcode);
	}
	log_to = (struct mz_log_text_options){.pid = 7};
	try_all("log", log_of_one);
}

static void folder_is_clean(void)
{
	CHECK(!rmdir(folder));
}

int main(void)
{
	test_folder(folder, out_path, "out");
	RUN(text_keeps_all_that_is_not_dropped);
	RUN(a_container_reads_as_the_trace);
	RUN(classic_names_what_it_cannot_hold);
	RUN(progress_is_told);
	RUN(one_file_per_process);
	RUN(every_allocation);
	RUN(folder_is_clean);
	return test_end();
}
