// SPDX-License-Identifier: BSD-2-Clause
/* Report what was recorded of a program, what was lost and what was not seen. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/json.h"
#include "cmds/loss_report.h"
#include "cmds/record/record.h"
#include "trace/sampled.h"

#define WAIT_TOLD 100000000ull /* ns: waiting of the program that is mentioned */

const char *record_spool_name(const struct record_job *j)
{
	return j->o->spool ? j->o->spool : "the folder of the output";
}

const char *record_spool_error(const struct record_job *j, char *buf, size_t size)
{
	int why = __atomic_load_n(&j->rings.spool.disk, __ATOMIC_RELAXED);
	const char *output = j->files.output, *slash = strrchr(output, '/');
	char folder[PATH_MAX] = ".", whole[PATH_MAX];

	if (!why)
		return NULL;
	if (j->o->spool)
		snprintf(folder, sizeof(folder), "%s", j->o->spool);
	else if (slash)
		snprintf(folder, sizeof(folder), "%.*s",
			 slash == output ? 1 : (int)(slash - output), output);
	snprintf(buf, size, "%s: %s", realpath(folder, whole) ? whole : folder, strerror(why));
	return buf;
}

int record_exit_status(const struct record_job *j)
{
	return WIFEXITED(j->status) ? WEXITSTATUS(j->status) : 128 + WTERMSIG(j->status);
}

/* A program chooses its own name: nothing in it may control the terminal. */
static const char *program_name(const struct mz_user_done *d, char *buf, size_t size)
{
	const char *slash = strrchr(d->program, '/'), *name = slash ? slash + 1 : d->program;

	return mz_printable(buf, size, name, strlen(name));
}

/* Why a program stopped recording by itself; NULL = it did not. */
static const char *why_left(uint32_t left)
{
	switch (left) {
	case MZ_LEFT_SECCOMP:
		return "it entered a sandbox (seccomp) without the system calls that recording "
		       "needs; it was recorded up to there";
	case MZ_LEFT_WAIT:
		return "the recorder did not run for 30 s; the program went on without it";
	default: return NULL;
	}
}

/* Some blocks stand for others, which are not in the file. */
static void tell_sampled(const struct mz_user_done *d)
{
	const struct mz_user_thinning *t = &d->thinning;
	uint64_t all = d->lost[MZ_LOSS_SAMPLED];
	char a[32], b[32];

	if (!all)
		return;
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		all += i != MZ_LOSS_SAMPLED ? d->lost[i] : d->events;
	fprintf(stderr,
		"%s: SAMPLED: of %s events, %s were left out from %.1f s to %.1f s; blocks stand "
		"for up to %u, and sums are estimates\n",
		d->path, console_count(a, all), console_count(b, d->lost[MZ_LOSS_SAMPLED]),
		(double)t->first / 1e9, (double)t->last / 1e9, t->weight);
}

static void tell_file(const struct mz_user_done *d)
{
	char a[32], b[32], name[512];

	fprintf(stderr, "%s: %s events of %s (pid %u), %s, %.2f bytes per event\n", d->path,
		console_count(a, d->events), program_name(d, name, sizeof(name)), d->pid,
		console_bytes(b, d->bytes), d->events ? (double)d->bytes / (double)d->events : 0);
	if (d->stacks.blocks) {
		fprintf(stderr, "%s: ", d->path);
		console_stacks(stderr, &d->stacks);
	}
	if (d->blind & MZ_BLIND_OWN_MALLOC)
		fprintf(stderr,
			"%s: the program defines malloc itself: calls inside it are not in the "
			"file, only those of its libraries\n",
			d->path);
	if (d->blind & MZ_BLIND_NAMESPACE)
		fprintf(stderr,
			"%s: it loaded libraries into a namespace of their own (dlmopen): their "
			"calls are not in the file\n",
			d->path);
	if (d->blind & MZ_BLIND_STACKS)
		fprintf(stderr,
			"%s: no call stacks: they can be taken in programs of glibc on x86-64 "
			"only\n",
			d->path);
	if (d->unseen)
		fprintf(stderr,
			"%s: at least %s of its memory comes from no recorded call: it has another "
			"allocator, or maps memory (--mmap records that)\n",
			d->path, console_bytes(a, d->unseen));
	if (d->waits.ns >= WAIT_TOLD)
		fprintf(stderr,
			"%s: its threads waited for the recorder %s times, %.2f s in all, at most "
			"%.1f ms at once\n",
			d->path, console_count(a, d->waits.count), (double)d->waits.ns / 1e9,
			(double)d->waits.longest / 1e6);
	if (why_left(d->left))
		fprintf(stderr, "%s: %s\n", d->path, why_left(d->left));
	tell_sampled(d);
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		if (d->lost[i] && i != MZ_LOSS_SAMPLED)
			fprintf(stderr, "%s: LOST %s events: %s\n", d->path,
				console_count(a, d->lost[i]), mz_loss_name(i));
}

/* Counts in the region are claims of programs; they are shown and not used. */
static uint64_t refused(const struct record_job *j)
{
	return j->rings.region->refused + j->rings.refused + j->rings.without_file;
}

/* Programs that recorded ones became by exec and that never reported, without those that said why.
 * A program that was started in another way (vfork, posix_spawn) is not noticed: the count is a
 * lower bound. */
static uint64_t silent(const struct record_job *j)
{
	uint64_t n = j->rings.silent;
	uint64_t known = refused(j) + j->rings.region->sandboxed;

	return n > known ? n - known : 0;
}

static void tell_silent(const struct record_job *j)
{
	char a[32];

	if (silent(j))
		console_note("at least %s programs were not recorded: they did not load the "
			     "library or could not reach the recorder, because they are static, "
			     "privileged, 32-bit, or in a container",
			     console_count(a, silent(j)));
}

/* Of another user, or with fewer rights than the recorder. */
static void tell_barred(const struct record_job *j)
{
	uint64_t n = j->rings.barred;
	char a[32];

	if (n)
		console_note("at least %s programs were not recorded: they changed their user or "
			     "dropped privileges, and may not access the shared memory; "
			     "--other-users permits it",
			     console_count(a, n));
}

static void tell_refused(const struct record_job *j)
{
	char a[32];
	uint64_t at_once = j->rings.region->refused;

	if (at_once)
		console_note("%s processes were not recorded: more than %u at once",
			     console_count(a, at_once), MZ_IMAGES);
	if (j->rings.refused)
		console_note(
			"%s processes reported to the recorder and were not recorded: only the "
			"program itself is, without --follow-forks",
			console_count(a, j->rings.refused));
	if (j->rings.without_file)
		console_note("%s programs were not recorded: a recording has at most %u files",
			     console_count(a, j->rings.without_file), MOST_FILES);
	if (j->rings.region->sandboxed)
		console_note("%u programs were not recorded: they run in a sandbox (seccomp) that "
			     "may forbid what recording needs",
			     j->rings.region->sandboxed);
}

/* Before any count: the reader must know that the counts are not to be trusted. */
static void tell_damage(const struct record_job *j)
{
	char a[32];

	if (j->rings.stray)
		console_note("the shared memory was damaged: %s records belong to no program, and "
			     "the counts below may be wrong",
			     console_count(a, j->rings.stray));
}

/* Programs that the recorded one started: a compiler driver does no work itself. */
static void tell_alone(const struct record_job *j)
{
	uint32_t n = __atomic_load_n(&j->rings.region->alone, __ATOMIC_RELAXED);
	char line[MZ_ALONE_NAMES * 20] = "", name[17], a[32];

	if (!n)
		return;
	for (unsigned i = 0; i < n && i < MZ_ALONE_NAMES; i++) {
		memcpy(name, (const char *)j->rings.region->alone_names[i], 16);
		name[16] = '\0';
		for (char *p = name; *p; p++)
			*p = *p > ' ' && *p <= '~' ? *p : '?';
		if (!strstr(line, name)) {
			strcat(line, *line ? ", " : "");
			strcat(line, name);
		}
	}
	console_note("%s other %s not recorded (%s%s); --follow-forks records %s too",
		     console_count(a, n),
		     n == 1 ? "program that it started was" : "programs that it started were", line,
		     n > MZ_ALONE_NAMES ? ", ..." : "", n == 1 ? "it" : "them");
}

/* Child processes that did not call exec, and are not recorded. */
static uint32_t forked(const struct record_job *j)
{
	int32_t n = (int32_t)__atomic_load_n(&j->rings.region->forked, __ATOMIC_RELAXED);

	return n > 0 ? (uint32_t)n : 0; /* a child may call exec before its parent counts it */
}

static void tell_forked(const struct record_job *j)
{
	uint32_t n = forked(j);
	char a[32];

	if (n)
		console_note(
			"%s %s not recorded; --follow-forks records %s too", console_count(a, n),
			n == 1 ? "process that it forked was" : "processes that it forked were",
			n == 1 ? "it" : "them");
}

/* Where records waited, if there were many, or if the space was not enough. */
static void tell_spool(const struct record_job *j)
{
	const struct mz_user_spool *s = &j->rings.spool;
	uint64_t lost = 0;
	char a[32], b[32], why[PATH_MAX + 128];

	for (size_t i = 0; i < j->files.done_count; i++)
		lost += j->files.done[i].lost[MZ_LOSS_RING_FULL] +
			(j->o->sample ? 0 : j->files.done[i].lost[MZ_LOSS_SAMPLED]);
	if (s->most < RECORD_SPOOL_TOLD && !lost)
		return;
	if (lost && record_spool_error(j, why, sizeof(why))) {
		console_note("%s: the spool could not grow; free some space, or name another "
			     "folder with --spool",
			     why);
		return;
	}
	console_note("the spool, in %s, held up to %s; it may hold %s (--spool, --spool-limit)",
		     record_spool_name(j), console_bytes(a, s->most), console_bytes(b, s->limit));
	if (lost && !j->o->drop)
		console_note("the recorder could not keep up: --wait records everything, and the "
			     "program waits");
}

/* Proposed to the user: a file of the command itself, or else of a program that it started; the one
 * with the most events. */
static const struct mz_user_done *most_of(const struct record_job *j, bool any)
{
	const struct mz_user_done *most = NULL;

	for (size_t i = 0; i < j->files.done_count; i++) {
		const struct mz_user_done *d = &j->files.done[i];

		if ((any || d->pid == (uint32_t)j->pid) && d->events &&
		    (!most || d->events > most->events))
			most = d;
	}
	return most;
}

void record_tell(const struct record_job *j)
{
	const struct mz_user_done *most = most_of(j, false);
	char path[PATH_MAX + 64];

	tell_damage(j);
	for (size_t i = 0; i < j->files.done_count; i++) {
		struct mz_user_done d = j->files.done[i];

		d.path = console_text(path, sizeof(path), d.path);
		tell_file(&d);
	}
	if (!most)
		most = most_of(j, true);
	if (!most && j->files.done_count)
		most = j->files.done;
	tell_refused(j);
	tell_silent(j);
	tell_barred(j);
	tell_alone(j);
	tell_forked(j);
	tell_spool(j);
	if (WIFSIGNALED(j->status))
		console_note("the program was ended by signal %d (%s)", WTERMSIG(j->status),
			     strsignal(WTERMSIG(j->status)));
	if (j->attached && most && most->events)
		console_note("frees of blocks from before the recording appear as frees of unknown "
			     "blocks");
	if (most)
		fprintf(stderr, "next: memorizer report %s\n",
			console_argument(path, sizeof(path), most->path));
}

static double cpu_seconds(const struct rusage *r)
{
	return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
	       (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
}

static void sampled_json(struct mz_json *json, const struct mz_user_done *d)
{
	const struct mz_user_thinning *t = &d->thinning;
	struct mz_sampled s = {
		t->weight, t->unrecorded.allocs, t->unrecorded.bytes, t->unrecorded.frees, t->first,
		t->last};

	if (d->lost[MZ_LOSS_SAMPLED])
		mz_sampled_json(&s, d->lost[MZ_LOSS_SAMPLED], json);
}

void record_tell_json(const struct record_job *j)
{
	struct mz_buf b = {0};
	struct mz_json json = {.out = &b};
	struct rusage program, self;

	mz_json_object(&json, NULL);
	mz_json_array(&json, "files");
	for (size_t i = 0; i < j->files.done_count; i++) {
		const struct mz_user_done *d = &j->files.done[i];

		mz_json_object(&json, NULL);
		mz_json_str(&json, "path", d->path);
		mz_json_str(&json, "program", d->program);
		mz_json_u64(&json, "pid", d->pid);
		mz_json_u64(&json, "events", d->events);
		mz_json_u64(&json, "bytes", d->bytes);
		mz_stack_share_json(&d->stacks, &json);
		mz_json_bool(&json, "own_malloc", d->blind & MZ_BLIND_OWN_MALLOC);
		mz_json_bool(&json, "namespaces", d->blind & MZ_BLIND_NAMESPACE);
		mz_json_bool(&json, "no_stacks", d->blind & MZ_BLIND_STACKS);
		mz_json_u64(&json, "unseen_bytes", d->unseen);
		if (d->left == MZ_LEFT_SECCOMP || d->left == MZ_LEFT_WAIT)
			mz_json_str(&json, "left", d->left == MZ_LEFT_SECCOMP ? "seccomp" : "wait");
		mz_json_u64(&json, "waits", d->waits.count);
		mz_json_double(&json, "waited_seconds", (double)d->waits.ns / 1e9);
		mz_json_double(&json, "longest_wait_seconds", (double)d->waits.longest / 1e9);
		sampled_json(&json, d);
		lost_json(&json, "lost", d->lost);
		mz_json_end_object(&json);
	}
	mz_json_end_array(&json);
	mz_json_u64(&json, "refused", refused(j));
	mz_json_u64(&json, "sandboxed", j->rings.region->sandboxed);
	mz_json_u64(&json, "not_loaded", silent(j));
	mz_json_u64(&json, "other_users", j->rings.barred);
	mz_json_u64(&json, "stray", j->rings.stray);
	mz_json_i64(&json, "exit_status", record_exit_status(j));
	getrusage(RUSAGE_CHILDREN, &program);
	getrusage(RUSAGE_SELF, &self);
	if (j->program_ended)
		mz_json_double(&json, "program_seconds",
			       (double)(j->program_ended - j->start) / 1e9);
	if (j->packed_at)
		mz_json_double(&json, "packing_seconds",
			       (double)(j->packed_at - j->program_ended) / 1e9);
	mz_json_u64(&json, "spool_bytes", j->rings.spool.most);
	mz_json_u64(&json, "spool_limit", j->rings.spool.limit);
	if (j->rings.spool.disk)
		mz_json_str(&json, "spool_error", strerror(j->rings.spool.disk));
	mz_json_u64(&json, "not_followed", j->rings.region->alone);
	mz_json_u64(&json, "forks_not_followed", forked(j));
	mz_json_double(&json, "program_cpu_seconds", cpu_seconds(&program));
	mz_json_double(&json, "recorder_cpu_seconds", cpu_seconds(&self));
	mz_json_u64(&json, "recorder_peak_rss", (uint64_t)self.ru_maxrss * 1024);
	mz_json_end_object(&json);
	console_put(&b, stderr);
}
