// SPDX-License-Identifier: BSD-2-Clause
/* Record what a program does with its heap. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/lost.h"
#include "cmds/record/kmemtraced.h"
#include "record/attach.h"
#include "record/user_rings.h"
#include "record/user_start.h"
#include "trace/sampled.h"

#define DEFAULT_OUTPUT	   "memorizer.cmt"
#define DEFAULT_RESOLUTION 1048576 /* ns */
#define BUSY_NS		   1000000l
#define IDLE_NS		   20000000l
/* A program that makes records faster than they are packed: it has the processors
 * to itself, and packing comes when it makes less, or is over. */
#define MUCH		   524288u	 /* records that wait */
#define LOOK_NS		   100000000ull	 /* its rate is looked at so often */
#define FAST		   1000000u	 /* records a second */
#define SPOOL_TOLD	   (64ull << 20) /* bytes: a spool that was this large is mentioned */
#define WAIT_TOLD	   100000000ull	 /* ns: waiting of the program that is mentioned */

struct opts {
	uint64_t given;
	const char *output;
	const char *stacks;
	bool of_kernel;
	bool follow_forks;
	bool mmap;
	bool drop, wait;
	const char *spool;
	uint64_t spool_limit;
	const char *sample;
	uint64_t pid;
	uint64_t resolution;
	double duration;
	bool force;
	bool json;
	struct kmemtraced_opts kernel;
};

enum { OF_PROGRAM, OF_KERNEL };
#define PROGRAM (1u << OF_PROGRAM)
#define KERNEL	(1u << OF_KERNEL)

static const char *const scopes[] = {"without --kernel", "with --kernel", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT(0, "kernel", NULL, MZ_OPT_FLAG, struct opts, of_kernel,
	       "record the allocations of the running kernel, while CMD runs or until Ctrl-C"),
	MZ_OPT('o', "output", "FILE", MZ_OPT_STR, struct opts, output,
	       "write to FILE; default " DEFAULT_OUTPUT
	       "; with --kernel, into the folder FILE, default kmemtrace.data"),
	MZ_OPT('f', "force", NULL, MZ_OPT_FLAG, struct opts, force,
	       "replace an existing recording"),
	MZ_OPT(0, "stacks", "DEPTH", MZ_OPT_OPTSTR, struct opts, stacks,
	       "keep the call stack of each allocation; with DEPTH, at most that many callers"),
	MZ_OPT('p', "pid", "PID", MZ_OPT_U64, struct opts, pid,
	       "record a running program until it ends, or until Ctrl-C or --duration; with "
	       "--kernel, only what this process allocates, and the frees of that"),
	MZ_OPT(0, "duration", "S", MZ_OPT_DOUBLE, struct opts, duration,
	       "stop recording after S seconds; the program continues"),
	MZ_OPT(0, "json", NULL, MZ_OPT_FLAG, struct opts, json, "print the summary as JSON"),
	MZ_OPT(0, "sample", "1/N", MZ_OPT_STR, struct opts, sample,
	       "record one block in N, from its allocation to its free; in programs this holds for "
	       "blocks of up to 256 bytes, and larger ones are chosen more often"),
	MZ_OPT_FOR(PROGRAM, 0, "follow-forks", NULL, MZ_OPT_FLAG, struct opts, follow_forks,
		   "also record the processes that it starts, each to its own file"),
	MZ_OPT_FOR(PROGRAM, 0, "mmap", NULL, MZ_OPT_FLAG, struct opts, mmap,
		   "also record mmap, munmap, mremap, brk and sbrk"),
	MZ_OPT_FOR(PROGRAM, 0, "drop", NULL, MZ_OPT_FLAG, struct opts, drop,
		   "never make the program wait; events that do not fit are lost and counted"),
	MZ_OPT_FOR(PROGRAM, 0, "wait", NULL, MZ_OPT_FLAG, struct opts, wait,
		   "record everything: when the spool is full, the program waits"),
	MZ_OPT_FOR(PROGRAM, 0, "spool", "DIR", MZ_OPT_STR, struct opts, spool,
		   "keep the records to be encoded in DIR; default: the folder of the output"),
	MZ_OPT_FOR(PROGRAM, 0, "spool-limit", "SIZE", MZ_OPT_SIZE, struct opts, spool_limit,
		   "let the spool grow to SIZE bytes (2G); when half of it is used, blocks are "
		   "sampled"),
	MZ_OPT_FOR(
		PROGRAM, 0, "resolution", "NS", MZ_OPT_U64, struct opts, resolution,
		"store times in steps of NS ns, rounded down to a power of two (1048576, about a "
		"millisecond); 1 = exact"),
	KMEMTRACED_OPTS(KERNEL, struct opts, kernel),
	{0},
};

struct job {
	const struct opts *o;
	struct mz_user_rings rings;
	struct mz_user_files files;
	struct mz_attach attach;
	bool attached; /* it was running before; detached: and is again as it was */
	bool detached;
	struct mz_error err;
	pid_t pid;
	uint32_t flags, depth; /* of the region */
	int status;	       /* of the program, from waitpid() */
	bool exited;
	bool stopped; /* by --duration or a signal */
	uint64_t start;
	uint64_t look_at, moved, spare; /* when the rate was looked at, and what there was */
	bool fast;
	bool told_spool; /* that records wait there */
	bool told_thinning;
	uint64_t packed_at; /* 0: it was packed while the program ran */
};

static volatile sig_atomic_t told_to_end;
static volatile uint64_t child_ended; /* when */

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_signal(int sig)
{
	told_to_end = sig;
}

static void on_child(int sig)
{
	(void)sig;
	if (!child_ended)
		child_ended = now(CLOCK_MONOTONIC);
}

static bool time_is_up(const struct job *j)
{
	return j->o->duration > 0 &&
	       (double)(now(CLOCK_MONOTONIC) - j->start) >= j->o->duration * 1e9;
}

/* The program is left as it was found. */
static void detach(struct job *j)
{
	struct mz_error why = {0};

	/* first, that no thread waits for room in its ring, which we do not read now */
	__atomic_store_n(&j->rings.region->stop, 1, __ATOMIC_SEQ_CST);
	if (mz_attach_end(&j->attach, &why) < 0)
		console_note(
			"%s; its calls still pass through the library, which no longer records",
			why.text);
	else
		j->detached = true;
}

/* What was in the rings when the recording was stopped still counts. */
static int stop(struct job *j)
{
	long n;

	j->stopped = true;
	if (j->attached)
		detach(j);
	n = mz_user_rings_drain(&j->rings, false);
	__atomic_store_n(&j->rings.region->stop, 1, __ATOMIC_SEQ_CST);
	return n < 0 ? (int)n : mz_user_rings_close(&j->rings);
}

/* Time in ns that the processors had nothing to do, or only our work: all of them
 * together, since the machine was started. */
static uint64_t spare_time(void)
{
	unsigned long long user, nice, system, idle, wait = 0;
	FILE *f = fopen("/proc/stat", "re");
	uint64_t ns = now(CLOCK_PROCESS_CPUTIME_ID);

	if (f &&
	    fscanf(f, "cpu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait) >= 4)
		ns += (idle + wait) * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	if (f)
		fclose(f);
	return ns;
}

/* Does the program make records fast, and need all processors for it? */
static void look_at_rate(struct job *j, uint64_t moved)
{
	uint64_t t = now(CLOCK_MONOTONIC), spare, span = t - j->look_at;

	if (span < LOOK_NS)
		return;
	spare = spare_time();
	j->fast = (double)(moved - j->moved) * 1e9 > (double)FAST * (double)span &&
		  spare - j->spare < span / 2;
	j->look_at = t;
	j->moved = moved;
	j->spare = spare;
}

/* Blocks are sampled, from now on: said once. */
static void tell_thinning(struct job *j)
{
	/* not that of the region, which programs can write */
	unsigned level = __atomic_load_n(&j->rings.thin, __ATOMIC_RELAXED);

	if (j->told_thinning || j->o->json || level <= j->files.sample)
		return;
	j->told_thinning = true;
	console_note("the spool fills: one small block in %u is recorded for the time being",
		     1u << level);
}

static const char *spool_name(const struct job *j)
{
	return j->o->spool ? j->o->spool : "the folder of the output";
}

/* Packing does not keep up, and records wait on the disk: said once. */
static void tell_behind(struct job *j, uint64_t waiting)
{
	char a[32], b[32];

	if (j->told_spool || waiting * sizeof(struct mz_record) < SPOOL_TOLD || j->o->json)
		return;
	j->told_spool = true;
	console_note("records wait to be encoded: %s in the spool, in %s; it may hold %s",
		     console_bytes(a, waiting * sizeof(struct mz_record)), spool_name(j),
		     console_bytes(b, j->rings.spool.limit));
}

/* Shall packing wait? Not when a quarter of the spool is used: then it could become
 * full, and events would be lost. */
static bool leave_to_program(struct job *j)
{
	uint64_t waiting, moved;
	bool full;

	mz_user_rings_backlog(&j->rings, &waiting, &moved, &full);
	look_at_rate(j, moved);
	tell_behind(j, waiting);
	tell_thinning(j);
	j->files.behind = waiting >= MUCH;
	j->files.beside = j->files.behind && sysconf(_SC_NPROCESSORS_ONLN) > 1;
	if (full || waiting < MUCH || child_ended ||
	    waiting * sizeof(struct mz_record) > j->rings.spool.limit / 4)
		return false;
	return j->fast;
}

/* There may be a lot left to do. */
static void tell_packing(struct job *j)
{
	uint64_t waiting, moved;
	char a[32];
	bool full;

	mz_user_rings_backlog(&j->rings, &waiting, &moved, &full);
	if (waiting >= MUCH && !j->o->json)
		console_note("the program has ended; encoding %s records",
			     console_count(a, waiting));
}

/* Until the program and all that is recorded with it have ended. */
static int follow(struct job *j)
{
	unsigned quiet = 0;

	for (;;) {
		int left;
		long n;

		if (!j->exited && !j->attached && waitpid(j->pid, &j->status, WNOHANG) == j->pid) {
			j->exited = true;
			tell_packing(j);
		}
		left = mz_user_rings_images(&j->rings);
		if (j->attached && !left)
			j->exited = true;
		if (told_to_end || time_is_up(j))
			return stop(j);
		if (left > 0 && leave_to_program(j)) {
			nanosleep(&(struct timespec){.tv_nsec = BUSY_NS * 5}, NULL);
			continue;
		}
		n = left < 0 ? left : mz_user_rings_drain(&j->rings, false);
		if (n < 0)
			return (int)n;
		/* a child may just be on its way to its place */
		if (j->exited && !left && ++quiet > (j->o->follow_forks ? 3 : 0))
			return 0;
		if (n < 1000)
			mz_user_rings_sleep(&j->rings, n ? BUSY_NS : IDLE_NS / (j->exited ? 4 : 1));
	}
}

/* The program goes on without the recorder; so does its exit status. */
static void wait_for_program(struct job *j)
{
	if (told_to_end && !j->exited)
		kill(j->pid, told_to_end);
	while (!j->exited) {
		if (waitpid(j->pid, &j->status, 0) == j->pid || errno != EINTR)
			j->exited = true;
		if (told_to_end && !j->exited)
			kill(j->pid, told_to_end);
	}
}

static int exit_status(const struct job *j)
{
	return WIFEXITED(j->status) ? WEXITSTATUS(j->status) : 128 + WTERMSIG(j->status);
}

/* ---- the summary ------------------------------------------------------------------ */

/* The name of a program is its own choice: nothing of it acts on the terminal. */
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
	if (d->unseen)
		fprintf(stderr,
			"%s: at least %s of its memory come from no recorded call: it has another "
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

/* Counts of the region are what programs say; they are shown and not used. */
static uint64_t refused(const struct job *j)
{
	return j->rings.region->refused + j->rings.refused;
}

/* Programs that recorded ones became, and that never said anything, without those that
 * said why. One that another program started without a moment of its own (vfork, posix_spawn)
 * is not noticed: there may be more. */
static uint64_t silent(const struct job *j)
{
	uint64_t n = j->rings.became_count + j->rings.became_more;
	uint64_t known = refused(j) + j->rings.region->sandboxed;

	return n > known ? n - known : 0;
}

static void tell_silent(const struct job *j)
{
	char a[32];

	if (silent(j))
		console_note("at least %s programs were not recorded: they did not load the "
			     "library, or found no way to the recorder; they are static, "
			     "privileged, of 32 bits, or in a container",
			     console_count(a, silent(j)));
}

static void tell_refused(const struct job *j)
{
	char a[32];

	if (refused(j))
		console_note("%s processes were not recorded: more than %u at once",
			     console_count(a, refused(j)), MZ_IMAGES);
	if (j->rings.region->sandboxed)
		console_note("%u programs were not recorded: they run in a sandbox (seccomp) that "
			     "may forbid what recording needs",
			     j->rings.region->sandboxed);
	if (j->rings.stray)
		console_note("%s records belong to no program: the shared memory was damaged",
			     console_count(a, j->rings.stray));
}

/* Programs that the recorded one has started: the driver of a compiler does nothing
 * itself. */
static void tell_alone(const struct job *j)
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
	console_note("%s other programs that it started were not recorded (%s%s); --follow-forks "
		     "records them too",
		     console_count(a, n), line, n > MZ_ALONE_NAMES ? ", ..." : "");
}

/* Where records waited, if that was much or not enough. */
static void tell_spool(const struct job *j)
{
	const struct mz_user_spool *s = &j->rings.spool;
	uint64_t lost = 0;
	char a[32], b[32];

	for (size_t i = 0; i < j->files.done_count; i++)
		lost += j->files.done[i].lost[MZ_LOSS_RING_FULL] +
			(j->o->sample ? 0 : j->files.done[i].lost[MZ_LOSS_SAMPLED]);
	if (s->most < SPOOL_TOLD && !lost)
		return;
	console_note("the spool, in %s, held up to %s; it may hold %s (--spool, --spool-limit)",
		     spool_name(j), console_bytes(a, s->most), console_bytes(b, s->limit));
	if (lost && !j->o->drop)
		console_note("the recorder could not keep up: --wait records everything, and the "
			     "program waits");
}

static void tell(const struct job *j)
{
	const struct mz_user_done *most = NULL;

	for (size_t i = 0; i < j->files.done_count; i++) {
		const struct mz_user_done *d = &j->files.done[i];

		tell_file(d);
		if (!most || d->events > most->events)
			most = d;
	}
	tell_refused(j);
	tell_silent(j);
	tell_alone(j);
	tell_spool(j);
	if (WIFSIGNALED(j->status))
		console_note("the program was ended by signal %d (%s)", WTERMSIG(j->status),
			     strsignal(WTERMSIG(j->status)));
	if (j->attached)
		console_note("frees of blocks from before the recording appear as frees of unknown "
			     "blocks");
	if (most)
		fprintf(stderr, "next: memorizer report %s\n", most->path);
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

static void tell_json(const struct job *j)
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
	mz_json_u64(&json, "stray", j->rings.stray);
	mz_json_i64(&json, "exit_status", exit_status(j));
	getrusage(RUSAGE_CHILDREN, &program);
	getrusage(RUSAGE_SELF, &self);
	if (child_ended)
		mz_json_double(&json, "program_seconds", (double)(child_ended - j->start) / 1e9);
	if (j->packed_at)
		mz_json_double(&json, "packing_seconds",
			       (double)(j->packed_at - child_ended) / 1e9);
	mz_json_u64(&json, "spool_bytes", j->rings.spool.most);
	mz_json_u64(&json, "spool_limit", j->rings.spool.limit);
	mz_json_u64(&json, "not_followed", j->rings.region->alone);
	mz_json_double(&json, "program_cpu_seconds", cpu_seconds(&program));
	mz_json_double(&json, "recorder_cpu_seconds", cpu_seconds(&self));
	mz_json_u64(&json, "recorder_peak_rss", (uint64_t)self.ru_maxrss * 1024);
	mz_json_end_object(&json);
	console_put(&b, stderr);
}

/* ---- the verb ----------------------------------------------------------------------- */

static int parse_depth(const struct opts *o, uint32_t *depth)
{
	char *end;
	long v = MZ_STACK_DEPTH;

	*depth = 0;
	if (!o->stacks)
		return 0;
	if (*o->stacks)
		v = strtol(o->stacks, &end, 10);
	if ((*o->stacks && *end) || v < 1 || v > (long)MZ_STACK_DEPTH)
		return -EINVAL;
	*depth = (uint32_t)v;
	return 0;
}

/* Before the program is started, or touched. */
static int check_output(struct job *j)
{
	if (!strcmp(j->files.output, "-"))
		return mz_fail(&j->err, EINVAL,
			       "standard output is the program's; name a file with -o");
	return mz_atomic_file_check(j->files.output, j->o->force ? MZ_FILE_REPLACE : 0, &j->err);
}

static int follow_to_end(struct job *j)
{
	int ret = mz_user_rings_start(&j->rings);

	if (!ret)
		ret = follow(j);
	if (ret < 0) {
		if (j->attached)
			detach(j);
		__atomic_store_n(&j->rings.region->stop, 1, __ATOMIC_SEQ_CST);
		console_error(&j->err);
		console_note("the recording has ended; the program continues without it");
	}
	return ret;
}

static void set_start(struct job *j)
{
	j->start = now(CLOCK_MONOTONIC);
	j->files.start_unix = now(CLOCK_REALTIME);
}

/* A power of two: what is left out then costs nothing in the file. */
static uint64_t resolution(const struct opts *o)
{
	uint64_t ns = o->resolution ? o->resolution : DEFAULT_RESOLUTION;

	return ns < 2 ? 0 : 1ull << (63 - __builtin_clzll(ns));
}

static int record(struct job *j, char **argv)
{
	struct sigaction ended = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
	char library[PATH_MAX];
	int ret = mz_user_library(library, sizeof(library), &j->err);

	if (!ret)
		ret = mz_user_check_program(argv[0], &j->err);
	if (!ret)
		ret = check_output(j);
	if (!ret)
		ret = mz_user_rings_init(&j->rings, -1, j->flags, j->depth, &j->files);
	if (ret < 0)
		return ret;
	sigaction(SIGCHLD, &ended, NULL);
	set_start(j);
	j->pid = mz_user_start(argv, library, j->rings.fd, &j->rings.region->main_pid, &j->err);
	if (j->pid < 0)
		return j->pid;
	j->rings.main_pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	j->rings.main_pid = j->o->follow_forks ? 0 : (uint32_t)j->pid;
	ret = follow_to_end(j);
	if (j->exited && child_ended)
		j->packed_at = now(CLOCK_MONOTONIC);
	wait_for_program(j);
	return ret;
}

/* ---- a program that is running ------------------------------------------------------ */

/* The program has made the memory, and waits. */
static int set_up(struct mz_attach *a, int fd, struct mz_error *err)
{
	struct job *j = a->arg;
	uint32_t flags = j->flags | (a->loaded_before ? 0 : MZ_REGION_INJECTED);
	int ret = mz_user_rings_init(&j->rings, fd, flags, j->depth, &j->files);

	(void)err; /* the same as that of the files */
	if (ret < 0)
		return ret;
	j->rings.main_pidfd = fcntl(a->pidfd, F_DUPFD_CLOEXEC, 0);
	j->rings.region->main_pid = (uint32_t)j->pid;
	memcpy(j->rings.region->real, a->functions, sizeof(j->rings.region->real));
	return 0;
}

static int begin_in(struct job *j)
{
	char library[PATH_MAX], real[PATH_MAX];
	int ret = mz_user_library(library, sizeof(library), &j->err);

	if (ret < 0)
		return ret;
	j->attach.set_up = set_up;
	j->attach.arg = j;
	/* the program's folder is not ours */
	return mz_attach_begin(&j->attach, realpath(library, real) ? real : library, &j->err);
}

/* Memory of the region, which the program cannot give back: threads of it may
 * still have an eye on it. */
static void empty_region(const struct job *j)
{
	if (j->detached)
		fallocate(j->rings.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  (off_t)MZ_REGION_BYTES);
}

static int record_pid(struct job *j)
{
	int ret = mz_attach_open(&j->attach, (pid_t)j->o->pid, &j->err);

	j->rings.fd = j->rings.main_pidfd = j->rings.spool.fd = -1;
	if (!ret)
		ret = check_output(j);
	j->pid = (pid_t)j->o->pid;
	set_start(j);
	if (!ret)
		ret = begin_in(j);
	if (ret >= 0) {
		j->attached = true;
		if (!j->o->json)
			console_note("recording pid %d; stop with Ctrl-C, the program continues",
				     (int)j->pid);
		ret = follow_to_end(j);
		empty_region(j);
	}
	mz_attach_close(&j->attach);
	return ret;
}

static int finish(struct job *j, int ret, const char *command)
{
	if (ret < 0)
		return j->pid > 0 && (j->attached || !j->o->pid) ? MZ_EXIT_FAILED
								 : console_error(&j->err);
	if (!j->files.done_count) {
		console_fail(
			"%s: nothing was recorded: %s", command,
			j->rings.region->sandboxed
				? "the program runs in a sandbox (seccomp) that may forbid what "
				  "recording needs"
				: "the program did not load the library; is it static, privileged, "
				  "or "
				  "in a container?");
		return exit_status(j) ? exit_status(j) : MZ_EXIT_FAILED;
	}
	if (j->o->json)
		tell_json(j);
	else
		tell(j);
	return exit_status(j);
}

/* A program that ends at once is gone before its arguments could be asked for. */
static const char *command_line(int argc, char **argv)
{
	static char line[4096];
	size_t n = 0;

	for (int i = 0; i < argc && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", argv[i]);
	return line;
}

static int run_program(const struct opts *o, int argc, char **argv)
{
	static struct job j; /* large: the state of 2,000 rings */
	struct sigaction sa = {.sa_handler = on_signal};
	int ret;

	j.o = o;
	j.files = (struct mz_user_files){.output = j.o->output ? j.o->output : DEFAULT_OUTPUT,
					 .force = j.o->force,
					 .resolution = resolution(j.o),
					 .spool = j.o->spool,
					 .spool_limit = j.o->spool_limit,
					 .waits = j.o->wait,
					 .drops = j.o->drop,
					 .err = &j.err};
	if (!argc == !j.o->pid)
		return console_usage(
			"no command given; use memorizer record -- CMD ARGS, or --pid PID");
	if (j.o->drop && j.o->wait)
		return console_usage("--drop and --wait exclude each other");
	if (j.o->spool && access(j.o->spool, W_OK | X_OK))
		return console_fail("%s: cannot hold the spool: %s", j.o->spool, strerror(errno));
	if (j.o->sample) {
		uint32_t n;

		ret = kmemtraced_parse_sample(j.o->sample, &n);
		if (ret >= 0)
			return ret;
		if (n & (n - 1) || n > 1u << MZ_THIN_MOST)
			return console_usage("--sample: N of '%s' is not a power of two up to %u",
					     j.o->sample, 1u << MZ_THIN_MOST);
		j.files.sample = (unsigned)__builtin_ctz(n);
	}
	if (j.o->pid > INT_MAX)
		return console_usage("--pid takes the number of a process");
	if (parse_depth(j.o, &j.depth))
		return console_usage("--stacks takes a depth of 1 to %u, not '%s'", MZ_STACK_DEPTH,
				     j.o->stacks);
	if (j.o->follow_forks)
		j.flags |= MZ_REGION_FORKS;
	if (j.o->mmap)
		j.flags |= MZ_REGION_MMAP;
	if (j.o->drop)
		j.flags |= MZ_REGION_DROP;
	if (j.o->wait)
		j.flags |= MZ_REGION_WAIT;
	j.files.attached = j.o->pid;
	j.files.command = command_line(argc, argv);
	argv[argc] = NULL; /* options may have stood behind */
	/* the terminal's signals are the program's; the recorder ends after it */
	if (j.o->pid)
		sigaction(SIGINT, &sa, NULL);
	else
		signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	ret = j.o->pid ? record_pid(&j) : record(&j, argv);
	ret = finish(&j, ret, argc ? argv[0] : "");
	mz_user_rings_deinit(&j.rings);
	mz_user_files_free(&j.files);
	return ret;
}

static int run_kernel(struct opts *o, int argc, char **argv)
{
	struct kmemtraced_opts *k = &o->kernel;

	if (o->stacks && *o->stacks)
		return console_usage("--stacks takes no depth with --kernel: stacks are whole");
	k->output = o->output;
	k->stacks = o->stacks != NULL;
	k->pid = o->pid;
	k->duration = o->duration;
	k->sample = o->sample;
	k->force = o->force;
	k->json = o->json;
	return kmemtraced_run(k, argc, argv);
}

extern const struct mz_cmd cmd_record;

static int run(void *options, int argc, char **argv)
{
	struct opts *o = options;
	int ret = options_check_scope(&cmd_record, o, o->of_kernel ? OF_KERNEL : OF_PROGRAM);

	if (ret >= 0)
		return ret;
	return o->of_kernel ? run_kernel(o, argc, argv) : run_program(o, argc, argv);
}

MZ_CMD(record, "record", struct opts, "[--] CMD [ARGS] | --pid PID | --kernel [--] [CMD [ARGS]]",
       "record the heap use of a program, or the kernel's allocations", .scopes = scopes,
       .raw_tail = true);
