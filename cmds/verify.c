// SPDX-License-Identifier: BSD-2-Clause
/* Check the checksums, order and counts of a container. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/progress.h"
#include "cmds/recording.h"

struct verify_opts {
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT_JSON(struct verify_opts, json),
	{0},
};

#define MOST 20 /* faults that are shown one by one */

struct verify_job {
	const char *path; /* as it can be shown */
	bool json;
	unsigned n;
	struct mz_buf b;
	struct mz_json j;
	struct progress progress;
};

static void show_progress(void *arg, double share, uint64_t events)
{
	struct verify_job *job = arg;

	progress_show(&job->progress, share, events, "events");
}

static void note(void *arg, uint64_t offset, const char *text)
{
	struct verify_job *job = arg;

	if (job->n++ >= MOST)
		return;
	progress_end(&job->progress);
	if (!job->json) {
		printf("%s: byte %" PRIu64 ": %s\n", job->path, offset, text);
		return;
	}
	mz_json_object(&job->j, NULL);
	mz_json_u64(&job->j, "offset", offset);
	mz_json_str(&job->j, "fault", text);
	mz_json_end_object(&job->j);
}

/* "produced 9 = written 7 + lost 2 (cpu_full 2)", where the file has all three. */
static void show_balance(const struct verify_job *job, const struct mz_summary *s)
{
	const char *before = " (";
	uint64_t lost = 0;
	char a[32], b[32], c[32];

	if (!s->has_produced)
		return;
	for (int i = 0; i < MZ_LOSSES; i++)
		lost += i != MZ_LOSS_SAMPLED ? s->lost[i] : 0;
	printf("%s: produced %s = written %s + lost %s", job->path, console_count(a, s->produced),
	       console_count(b, s->events), console_count(c, lost));
	for (int i = 0; i < MZ_LOSSES; i++) {
		if (i == MZ_LOSS_SAMPLED || !s->lost[i])
			continue;
		printf("%s%s %s", before, mz_loss_name((unsigned)i), console_count(a, s->lost[i]));
		before = ", ";
	}
	printf("%s", lost ? ")" : "");
	if (s->lost[MZ_LOSS_SAMPLED])
		printf(" + left out by sampling %s", console_count(a, s->lost[MZ_LOSS_SAMPLED]));
	printf("\n");
}

static void show(const struct verify_job *job, const struct mz_verify *v)
{
	char a[32], b[32];

	if (job->n > MOST)
		printf("%s: and %u more faults\n", job->path, job->n - MOST);
	if (!job->n) {
		printf("%s: good: %s events in %s chunk%s\n", job->path,
		       console_count(a, v->decoded), console_count(b, v->summary->chunks),
		       v->summary->chunks == 1 ? "" : "s");
		show_balance(job, v->summary);
		return;
	}
	printf("%s: %s of %s events are readable", job->path, console_count(a, v->decoded),
	       console_count(b, v->decoded + v->missing));
	if (v->bad_bytes)
		printf("; %" PRIu64 " bytes are damaged, from byte %" PRIu64 " on", v->bad_bytes,
		       v->first_bad);
	printf("\n");
}

/* result: 0 = no fault, 1 = faults, < 0 = it cannot be read at all, which err explains. */
static void show_json(struct verify_job *job, const struct mz_verify *v, int result,
		      const struct mz_error *err)
{
	struct mz_json *j = &job->j;

	mz_json_end_array(j);
	mz_json_bool(j, "good", !result);
	if (result < 0) {
		mz_json_str(j, "error", err->text);
		mz_json_end_object(j);
		return;
	}
	mz_json_u64(j, "decoded", v->decoded);
	mz_json_u64(j, "missing", v->missing);
	mz_json_u64(j, "bad_bytes", v->bad_bytes);
	mz_json_u64(j, "first_bad", v->first_bad);
	mz_json_u64(j, "disorder", v->disorder);
	mz_json_bool(j, "whole", v->summary->whole);
	mz_json_u64(j, "events", v->summary->events);
	lost_json(j, "lost", v->summary->lost);
	if (v->summary->has_produced) {
		mz_json_u64(j, "produced", v->summary->produced);
		mz_json_i64(j, "unbalanced", (int64_t)v->unbalanced);
	}
	mz_json_end_object(j);
}

/* Says what the file is, if it is no container. A damaged file may not open at all; the check
 * reports that. */
static int refuse_other(char *path, struct mz_error *err)
{
	struct mz_recording_options how = {.flags = options_open_flags()};
	struct mz_recording r;
	struct stat st;
	int ret = 0;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (!mz_recording_open(&r, &path, 1, &how, NULL) && r.format != MZ_FORMAT_CONTAINER) {
		bool is_trace = mz_recording_has_events(&r);

		ret = mz_fail(
			err, EINVAL,
			"%s: %s%s%s, not a container; only containers have checksums to verify",
			path, is_trace ? "a " : "",
			r.kind == MZ_RECORDING_KMAP   ? "the lines of a KMAP"
			: r.kind == MZ_RECORDING_SUMS ? "sums by call site"
						      : mz_format_name(r.format),
			is_trace ? " trace" : "");
	}
	mz_recording_close(&r);
	return ret;
}

/* 0, or MZ_EXIT_FAILED: it has faults, or cannot be read. */
static int verify_file(void *arg, char *path)
{
	struct verify_job *job = arg;
	struct mz_error err = {0};
	struct mz_summary summary = {.size = sizeof(summary)};
	struct mz_verify v = {.size = sizeof(v), .summary = &summary, .progress = show_progress};
	char shown[1024];
	int ret;

	job->path = console_text(shown, sizeof(shown), path);
	job->n = 0;
	if (job->json) {
		mz_json_object(&job->j, NULL);
		mz_json_str(&job->j, "path", path);
		mz_json_array(&job->j, "faults");
	}
	progress_start(&job->progress, path);
	ret = refuse_other(path, &err);
	if (!ret)
		ret = mz_verify_file_with(path, options_open_flags(), &v, note, job, &err);
	progress_end(&job->progress);
	if (ret < 0)
		console_error(&err);
	else if (!job->json)
		show(job, &v);
	if (job->json)
		show_json(job, &v, ret, &err);
	return ret ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	const struct verify_opts *o = options;
	struct verify_job job = {.json = o->json};
	int ret = MZ_EXIT_OK;
	bool list;

	if (!argc)
		return console_usage(
			"verify takes one trace, several, or a folder of a kernel recording");
	job.j.out = &job.b;
	list = job.json && recording_list_begin(&job.j, argc, argv);
	for (int i = 0; i < argc; i++)
		if (recording_each_file(argv[i], verify_file, &job))
			ret = MZ_EXIT_FAILED;
	if (list)
		recording_list_end(&job.j, !ret);
	printf("%.*s", (int)job.b.len, job.b.len ? job.b.data : "");
	mz_buf_free(&job.b);
	return ret;
}

MZ_CMD(verify, "verify", struct verify_opts, "TRACE|DIR...",
       "check containers: checksums, order, counts", .reads = true, .prints = true);
