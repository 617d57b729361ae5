// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace once with one allocator, in a fresh process. */
#include "cmds/replay/compare_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_read.h"
#include "base/self.h"

/* ---- the process --------------------------------------------------------------- */

static void child(const struct mz_allocator *a, const struct compare_how *how, int out)
{
	char self[PATH_MAX];
	const char *argv[16];
	unsigned n = 0;

	if (!mz_self_path(self, sizeof(self), 0))
		_exit(126);
	argv[n++] = "memorizer";
	argv[n++] = "replay";
	argv[n++] = "--json";
	argv[n++] = "--touch";
	argv[n++] = how->touch;
	if (how->samples)
		argv[n++] = "--samples";
	if (how->one_thread)
		argv[n++] = "--one-thread";
	if (how->allow_large)
		argv[n++] = "--allow-large";
	argv[n++] = "--";
	argv[n++] = how->trace;
	argv[n] = NULL;
	dup2(out, STDERR_FILENO);
	if (*a->library)
		setenv("LD_PRELOAD", a->library, 1);
	else
		unsetenv("LD_PRELOAD");
	execv(self, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* ---- what it says --------------------------------------------------------------- */

/* What the replay has printed as JSON, other than figures. */
struct answer {
	char message[sizeof(((struct mz_error *)0)->text)]; /* of its error; "" = there is none */
	char allocator[PATH_MAX];
	double ns, threads;
};

/* Figures of the replay; several keys of one figure are added up. */
static const struct figure {
	const char *key;
	size_t offset;
} figures[] = {
	{"events", offsetof(struct compare_run, events)},
	{"peak_live_bytes", offsetof(struct compare_run, peak_live)},
	{"rss_before", offsetof(struct compare_run, rss_before)},
	{"rss_peak", offsetof(struct compare_run, rss_peak)},
	{"rss_after", offsetof(struct compare_run, rss_after)},
	{"minor_faults", offsetof(struct compare_run, faults)},
	{"major_faults", offsetof(struct compare_run, faults)},
	{"failed_here", offsetof(struct compare_run, failed)},
	{"files_cut", offsetof(struct compare_run, files_cut)},
};

static int read_text(struct mz_json_reader *r, char *to, size_t size, struct mz_error *err)
{
	int piece = mz_json_read(r, err);

	if (piece == MZ_JSON_STRING)
		snprintf(to, size, "%.*s", (int)r->text.len, r->text.len ? r->text.data : "");
	return mz_json_skip(r, piece, err);
}

static int read_number(struct mz_json_reader *r, double *to, struct mz_error *err)
{
	int piece = mz_json_read(r, err);

	if (piece == MZ_JSON_NUMBER)
		*to += (double)r->number;
	return mz_json_skip(r, piece, err);
}

/* A list of lists of three numbers. The first is a number of calls or ns, which only the number of
 * threads tells: see samples_by_time. */
static int read_samples(struct mz_json_reader *r, struct compare_run *run, struct mz_error *err)
{
	int piece = mz_json_read(r, err);
	unsigned depth = r->depth, k = 0;
	uint64_t v[3];

	if (piece != MZ_JSON_ARRAY)
		return mz_json_skip(r, piece, err);
	while (r->depth >= depth) {
		piece = mz_json_read(r, err);
		if (piece < 0)
			return piece;
		if (piece == MZ_JSON_NUMBER && k < 3)
			v[k++] = (uint64_t)r->number;
		if (piece != MZ_JSON_ARRAY_END)
			continue;
		if (k == 3 && run->samples < COMPARE_SAMPLES)
			run->sample[run->samples++] = (struct mz_sample){
				.calls = v[0], .ns = v[0], .live = v[1], .rss = v[2]};
		k = 0;
	}
	return 0;
}

/* {"error": {"message": TEXT, ...}} */
static int read_error(struct mz_json_reader *r, struct answer *a, struct mz_error *err)
{
	int piece = mz_json_read(r, err);

	if (piece != MZ_JSON_OBJECT)
		return mz_json_skip(r, piece, err);
	while ((piece = mz_json_read(r, err)) == MZ_JSON_KEY) {
		bool message = !strcmp(r->text.data, "message");
		int ret = message ? read_text(r, a->message, sizeof(a->message), err)
				  : mz_json_skip(r, piece, err);

		if (ret < 0)
			return ret;
	}
	return piece < 0 ? piece : 0;
}

static int read_member(struct mz_json_reader *r, struct compare_run *run, struct answer *a,
		       struct mz_error *err)
{
	const char *key = r->text.data;

	if (!strcmp(key, "error"))
		return read_error(r, a, err);
	if (!strcmp(key, "allocator"))
		return read_text(r, a->allocator, sizeof(a->allocator), err);
	if (!strcmp(key, "samples"))
		return read_samples(r, run, err);
	if (!strcmp(key, "ns"))
		return read_number(r, &a->ns, err);
	if (!strcmp(key, "threads"))
		return read_number(r, &a->threads, err);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (!strcmp(key, figures[i].key))
			return read_number(r, (double *)(void *)((char *)run + figures[i].offset),
					   err);
	return mz_json_skip(r, MZ_JSON_KEY, err);
}

static int read_object(struct mz_json_reader *r, struct compare_run *run, struct answer *a,
		       struct mz_error *err)
{
	int piece = mz_json_read(r, err), ret = 0;

	while (piece > 0 && !ret && (piece = mz_json_read(r, err)) == MZ_JSON_KEY)
		ret = read_member(r, run, a, err);
	return piece < 0 ? piece : ret;
}

/* The system and our own notes may come first: the object begins with a line. 1; 0: there is no
 * object; or -errno. */
static int read_answer(const char *said, const char *name, struct compare_run *run,
		       struct answer *a, struct mz_error *err)
{
	struct mz_json_reader r;
	struct mz_input in;
	int ret;

	while (*said && *said != '{') {
		said += strcspn(said, "\n");
		said += *said == '\n';
	}
	if (!*said)
		return 0;
	ret = mz_input_memory(&in, said, strlen(said), name, err);
	if (ret < 0)
		return ret;
	mz_json_reader_init(&r, &in);
	ret = read_object(&r, run, a, err);
	mz_json_reader_deinit(&r);
	mz_input_close(&in);
	return ret < 0 ? ret : 1;
}

static int parse(const struct mz_allocator *a, const char *said, struct compare_run *run,
		 struct mz_error *err)
{
	const char *base = strrchr(a->library, '/');
	struct answer answer = {0};
	int ret;

	*run = (struct compare_run){0};
	ret = read_answer(said, a->name, run, &answer, err);
	if (ret < 0)
		return ret;
	/* a library that could not be loaded is only warned of by the system */
	if (base && !strstr(answer.allocator, base))
		return mz_fail(err, ENOEXEC, "%s: it was not loaded, or it does not define malloc",
			       a->library);
	run->ns = run->events > 0 ? answer.ns / run->events : 0;
	/* in one thread, calls are counted */
	run->samples_by_time = answer.threads > 1;
	for (size_t i = 0; i < run->samples; i++)
		*(run->samples_by_time ? &run->sample[i].calls : &run->sample[i].ns) = 0;
	return 0;
}

static int failed(const struct mz_allocator *a, const char *said, int status, struct mz_error *err)
{
	struct compare_run run = {0};
	struct answer answer = {0};

	/* what is no JSON is shown as it is */
	if (read_answer(said, a->name, &run, &answer, &(struct mz_error){0}) > 0 && *answer.message)
		return mz_fail(err, EIO, "%s", answer.message);
	if (WIFSIGNALED(status))
		return mz_fail(err, EIO, "the replay with %s was ended by signal %d (%s)", a->name,
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return mz_fail(err, EIO, "the replay with %s failed: %.200s", a->name, said);
}

int compare_run(const struct mz_allocator *a, const struct compare_how *how,
		struct compare_run *run, struct mz_error *err)
{
	int fd = memfd_create("memorizer-compare", MFD_CLOEXEC);
	int status = 0, ret;
	char *json = NULL;
	off_t size;
	pid_t pid;

	if (fd < 0)
		return mz_fail(err, errno, "cannot create a buffer: %s", strerror(errno));
	pid = fork();
	if (!pid)
		child(a, how, fd);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	size = lseek(fd, 0, SEEK_END);
	json = calloc(1, (size_t)size + 1);
	if (pid < 0)
		ret = mz_fail(err, errno, "cannot start a process: %s", strerror(errno));
	else if (!json || pread(fd, json, (size_t)size, 0) != size)
		ret = mz_fail_memory(err);
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		ret = failed(a, json, status, err);
	else
		ret = parse(a, json, run, err);
	free(json);
	close(fd);
	return ret;
}
