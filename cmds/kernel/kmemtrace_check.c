// SPDX-License-Identifier: BSD-2-Clause
/* Print what the checks of kernel traces find. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem_check.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"

struct kmem_check_opts {
	bool quiet;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_SWITCH('q', "quiet", struct kmem_check_opts, quiet, "print findings only"),
	MZ_SWITCH(0, "json", struct kmem_check_opts, json, "print findings and totals as JSON"),
	{0},
};

struct kmem_check_job {
	const struct kmem_check_opts *o;
	const char *path; /* of the file in hand */
	struct mz_json json;
	struct mz_buf buf;
	bool found;
};

static void show_finding(void *arg, uint64_t offset, uint64_t record, const char *text)
{
	struct kmem_check_job *j = arg;
	char path[300];

	j->found = true;
	if (j->o->json) {
		mz_json_object(&j->json, NULL);
		mz_json_u64(&j->json, "offset", offset);
		if (record != MZ_KMEM_NO_RECORD)
			mz_json_u64(&j->json, "event", record);
		mz_json_str(&j->json, "fault", text);
		mz_json_end_object(&j->json);
		return;
	}
	mz_printable(path, sizeof(path), j->path, strlen(j->path));
	if (record == MZ_KMEM_NO_RECORD)
		printf("%s: byte %" PRIu64 ": %s\n", path, offset, text);
	else
		printf("%s: byte %" PRIu64 ", record %" PRIu64 ": %s\n", path, offset, record,
		       text);
}

/* A file that cannot be read has no figures, only the reason. */
static void end_unread(struct kmem_check_job *j, const struct mz_error *err)
{
	if (j->o->json) {
		mz_json_end_array(&j->json);
		mz_json_bool(&j->json, "good", false);
		mz_json_str(&j->json, "error", err->text);
		mz_json_end_object(&j->json);
	}
}

static void end_file(struct kmem_check_job *j, const struct mz_kmem_check *sum)
{
	char path[300];

	if (j->o->json) {
		mz_json_end_array(&j->json);
		mz_json_bool(&j->json, "good", !sum->findings);
		mz_json_u64(&j->json, "events", sum->records);
		lost_json(&j->json, "lost", sum->lost_by);
		mz_json_end_object(&j->json);
	} else if (!j->o->quiet) {
		printf("%s: %" PRIu64 " records, %" PRIu64 " lost, %" PRIu64 " findings\n",
		       mz_printable(path, sizeof(path), j->path, strlen(j->path)), sum->records,
		       sum->lost, sum->findings);
	}
}

/* 0, or MZ_EXIT_FAILED if it cannot be read. */
static int check_one(void *arg, char *path)
{
	struct kmem_check_job *j = arg;
	struct mz_kmem_check sum;
	struct mz_error err = {0};

	j->path = path;
	if (j->o->json) {
		mz_json_object(&j->json, NULL);
		mz_json_str(&j->json, "path", path);
		mz_json_array(&j->json, "faults");
	}
	if (mz_kmem_check_file(path, options_open_flags(), &sum, show_finding, j, &err) < 0) {
		end_unread(j, &err);
		return console_error(&err);
	}
	end_file(j, &sum);
	return MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	struct kmem_check_job j = {.o = options};
	int ret = MZ_EXIT_OK;
	bool list;

	if (!argc)
		return console_usage(
			"no files given; for example: kmemtrace_check kmemtrace.data/cpu*.out");
	j.json.out = &j.buf;
	list = j.o->json && recording_list_begin(&j.json, argc, argv);
	for (int i = 0; i < argc; i++)
		if (recording_each_file(argv[i], check_one, &j))
			ret = MZ_EXIT_FAILED;
	if (j.found)
		ret = MZ_EXIT_FAILED;
	if (list)
		recording_list_end(&j.json, !ret);
	if (j.o->json)
		console_put(&j.buf, stdout);
	return ret;
}

static const char *const aliases[] = {"kmemtrace_check", NULL};

MZ_CMD(kmemtrace_check, "kmemtrace_check", struct kmem_check_opts, "DIR|FILES...",
       "check kernel traces and raw kmemtrace files", .aliases = aliases, .reads = true,
       .prints = true);
