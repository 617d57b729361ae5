// SPDX-License-Identifier: BSD-2-Clause
/* Conversions of traces, maps and logs: what they write, what they count and what they refuse; and
 * each of their allocations fails once. */
#include <memorizer.h>
#include <stdio.h>

#include "base/input.h"
#include "export/kmap.h"
#include "export/log_text.h"
#include "export/transcode.h"
#include "tests/unit/faults.h"

static char folder[] = "/tmp/memorizer-convert-XXXXXX";
static char map_path[64];

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
	ret = r ? mz_transcode(r, &to, &counts, &error) : -error.code;
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

/* ---- maps --------------------------------------------------------------------- */

#define OWNERS                                                                                     \
	"#owner 1,70,1,4026531836,1,sh,/\n"                                                        \
	"#owner 2,71,1,4026531836,52,web,/web\n"
#define OBJECT	"ffffffff81000010,70@1,ffff888000001000,64,100,0,0000000000000000,sh\n"
#define TOUCHED "  ffffffff81000020,71@2,3,4\n"
static const char map[] = OWNERS OBJECT "  ffffffff81000020,70@1,1,2\n" TOUCHED;
static struct mz_kmap_convert_options map_to;

static int convert_map(void)
{
	struct mz_kmap *k;
	int ret;

	error = (struct mz_error){0};
	map_to.output = out_path;
	k = mz_kmap_open_memory(map, strlen(map), "map", &error);
	ret = k ? mz_kmap_convert(k, &map_to, &error) : -error.code;
	mz_kmap_close(k);
	return ret;
}

static void lines_of_a_map(void)
{
	map_to = (struct mz_kmap_convert_options){.to = MZ_KMAP_TO_LINES};
	CHECK_EQ(convert_map(), 0);
	CHECK(holds(out_path, map));
	/* ten fields have no processes: the accesses are added up */
	map_to.to = MZ_KMAP_TO_G2;
	CHECK_EQ(convert_map(), 0);
	CHECK(holds(out_path,
		    "ffffffff81000010,70,ffff888000001000,64,100,0,          (null),KMALLOC,"
		    "sh,no-slab\n"
		    "  ffffffff81000020,4,6\n"));
}

static struct mz_kmap_part part;

static int write_part(void)
{
	const struct mz_kmap_part_options how = {.cgroup = "/web", .output = out_path};
	struct mz_kmap_owned m = {.path = map_path};
	int ret;

	error = (struct mz_error){0};
	ret = mz_kmap_owned_open(&m, &error);
	if (!ret)
		ret = mz_kmap_write_part(&m, &how, &part, &error);
	mz_kmap_owned_close(&m);
	return ret;
}

static void a_part_of_a_map(void)
{
	CHECK_EQ(write_part(), 0);
	CHECK(holds(out_path, OWNERS OBJECT TOUCHED));
	CHECK(part.kept.accesses == 7 && part.all.accesses == 10);
	CHECK(part.kept.objects == 0 && part.touched == 1);
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
	for (int i = MZ_KMAP_TO_CONTAINER; i <= MZ_KMAP_TO_G3; i++) {
		map_to = (struct mz_kmap_convert_options){.to = (enum mz_kmap_to)i};
		try_all("map", convert_map);
	}
	try_all("part", write_part);
}

static void folder_is_clean(void)
{
	unlink(map_path);
	CHECK(!rmdir(folder));
}

int main(void)
{
	FILE *f;

	test_folder(folder, out_path, "out");
	snprintf(map_path, sizeof(map_path), "%s/map", folder);
	f = fopen(map_path, "w");
	if (!f || fputs(map, f) < 0 || fclose(f))
		abort();
	RUN(text_keeps_all_that_is_not_dropped);
	RUN(a_container_reads_as_the_trace);
	RUN(classic_names_what_it_cannot_hold);
	RUN(progress_is_told);
	RUN(one_file_per_process);
	RUN(lines_of_a_map);
	RUN(a_part_of_a_map);
	RUN(every_allocation);
	RUN(folder_is_clean);
	return test_end();
}
