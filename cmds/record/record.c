// SPDX-License-Identifier: BSD-2-Clause
/* Record what a program does with its heap. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
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
#include "cmds/progress.h"
#include "cmds/record/record.h"
#include "cmds/signals.h"
#include "record/user_start.h"

#define DEFAULT_OUTPUT	   "memorizer.cmt"
#define DEFAULT_RESOLUTION 1048576 /* ns */
#define LARGE_BLOCK	   131072  /* bytes: it gets a mapping of its own */
#define BUSY_NS		   8000000l
#define BATCH		   16384 /* fewer records are not worth a round of their own */
#define IDLE_NS		   20000000l
/* A program that needs all processors has them to itself: records are packed when it needs fewer,
 * or has ended. How many records may wait until then depends on how fast they arrive. */
#define LOOK_NS		   100000000ull /* how often the rate of records is measured */
#define FIRST_LOOK_NS	   40000000ull	/* the same, at first */
#define FAST		   1000000u	/* records per second: more than can be packed beside it */
#define BUSY		   100000u	/* fewer take less than 3 % of a processor */
#define FAST_PART	   4		/* of the spool */
#define BUSY_PART	   32

enum { OF_PROGRAM, OF_KERNEL };
#define PROGRAM (1u << OF_PROGRAM)
#define KERNEL	(1u << OF_KERNEL)

static const char *const scopes[] = {"without --kernel", "with --kernel", NULL};

static const struct mz_opt opts[] = {
	MZ_SWITCH(0, "kernel", struct record_opts, of_kernel,
		  "record the allocations of the running kernel, while CMD runs or until Ctrl-C"),
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct record_opts, output,
	       "write to OUT; default " DEFAULT_OUTPUT
	       "; with --kernel, into the folder OUT, default kmemtrace.data"),
	MZ_SWITCH('f', "force", struct record_opts, force, "replace an existing recording"),
	MZ_OPT(0, "stacks", "DEPTH", MZ_OPT_OPTSTR, struct record_opts, stacks,
	       "keep the call stack of each allocation; with DEPTH, at most that many callers"),
	MZ_OPT('p', "pid", "PID", MZ_OPT_U64, struct record_opts, pid,
	       "record a running program until it ends, or until Ctrl-C or --duration; with "
	       "--kernel, only the blocks that this process allocates, and their frees"),
	MZ_OPT(0, "duration", "SECONDS", MZ_OPT_DOUBLE, struct record_opts, duration,
	       "stop recording after so many seconds; the program continues"),
	MZ_SWITCH('q', "quiet", struct record_opts, quiet, "show no progress"),
	MZ_SWITCH(0, "json", struct record_opts, json, "print the summary as JSON"),
	MZ_OPT(0, "sample", "1/N", MZ_OPT_STR, struct record_opts, sample,
	       "record one block in N, from its allocation to its free; in programs this holds for "
	       "blocks of up to 256 bytes, and larger ones are chosen more often"),
	MZ_SWITCH_FOR(PROGRAM, 0, "follow-forks", struct record_opts, follow_forks,
		      "also record the processes that it starts, each to its own file"),
	MZ_SWITCH_FOR(PROGRAM, 0, "other-users", struct record_opts, other_users,
		      "also record programs that change their user or drop privileges; these can "
		      "then read and change the records of all programs of this recording"),
	MZ_SWITCH_FOR(PROGRAM, 0, "mmap", struct record_opts, mmap,
		      "also record mmap, munmap, mremap, brk and sbrk"),
	MZ_SWITCH_FOR(PROGRAM, 0, "drop", struct record_opts, drop,
		      "never make the program wait; events that do not fit are lost and counted"),
	MZ_SWITCH_FOR(PROGRAM, 0, "wait", struct record_opts, wait,
		      "record everything: when the spool is full, the program waits"),
	MZ_OPT_FOR(PROGRAM, 0, "spool", "DIR", MZ_OPT_STR, struct record_opts, spool,
		   "keep the records to be encoded in DIR; default: the folder of the output"),
	MZ_OPT_FOR(PROGRAM, 0, "spool-limit", "SIZE", MZ_OPT_SIZE, struct record_opts, spool_limit,
		   "let the spool grow to SIZE bytes (2G); when half of it is used, blocks are "
		   "sampled"),
	MZ_OPT_FOR(
		PROGRAM, 0, "resolution", "NS", MZ_OPT_U64, struct record_opts, resolution,
		"store times in steps of NS ns, rounded down to a power of two (1048576, about a "
		"millisecond); 1 = exact"),
	KMEMTRACED_OPTS(KERNEL, struct record_opts, kernel),
	{0},
};

static volatile sig_atomic_t told_to_end;
static volatile uint64_t child_ended; /* when it ended */

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

static bool time_is_up(const struct record_job *j)
{
	return j->o->duration > 0 &&
	       (double)(now(CLOCK_MONOTONIC) - j->start) >= j->o->duration * 1e9;
}

/* Leaves the program as it was found. */
static void detach(struct record_job *j)
{
	struct mz_error why = {0};

	/* first of all, so that no thread waits for room in a ring that is no longer read */
	__atomic_store_n(&j->rings.region->stop, 1, __ATOMIC_SEQ_CST);
	if (mz_attach_end(&j->attach, &why) < 0)
		console_note(
			"%s; its calls still pass through the library, which no longer records",
			why.text);
	else
		j->detached = true;
}

/* What was in the rings when the recording was stopped still counts. */
static int stop(struct record_job *j)
{
	long n;

	j->stopped = true;
	if (j->attached)
		detach(j);
	n = mz_user_rings_drain(&j->rings, false);
	/* a realloc that is under way would hold up all that came after it */
	if (n >= 0 && j->rings.blocked)
		n = mz_user_rings_drain(&j->rings, true);
	__atomic_store_n(&j->rings.region->stop, 1, __ATOMIC_SEQ_CST);
	return n < 0 ? (int)n : mz_user_rings_close(&j->rings);
}

/* The time in ns, over all processors and since boot, in which they were idle or worked only for
 * the recorder. */
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

/* Does the program produce records and need all processors? Then packing may wait. */
static void look_at_rate(struct record_job *j, uint64_t moved)
{
	uint64_t t = now(CLOCK_MONOTONIC), spare, span = t - j->look_at, limit;
	double rate;

	if (span < (t - j->start < 2 * LOOK_NS ? FIRST_LOOK_NS : LOOK_NS))
		return;
	spare = spare_time();
	limit = j->rings.spool.limit;
	rate = (double)(moved - j->moved) * 1e9 / (double)span;
	j->may_wait = spare - j->spare >= span / 2 ? 0
		      : rate > FAST		   ? limit / FAST_PART
		      : rate > BUSY		   ? limit / BUSY_PART
						   : 0;
	/* records that waited on purpose are packed by one thread, and with the usual
	 * compression */
	if (rate > FAST)
		j->rings.much = 0;
	else if (j->may_wait)
		j->rings.much = 2 * j->may_wait / sizeof(struct mz_record);
	j->look_at = t;
	j->moved = moved;
	j->spare = spare;
}

/* Nothing is printed before the summary. */
static bool is_quiet(const struct record_job *j)
{
	return j->o->quiet || j->o->json;
}

/* Reports once that blocks are sampled from now on. */
static void tell_thinning(struct record_job *j)
{
	/* not the value in the region, which programs can write */
	unsigned level = __atomic_load_n(&j->rings.thin, __ATOMIC_RELAXED);
	char why[PATH_MAX + 128];

	if (j->told_thinning || is_quiet(j) || level <= j->files.sample)
		return;
	j->told_thinning = true;
	if (record_spool_error(j, why, sizeof(why)))
		console_note("%s: the spool cannot grow; for now, one small block in %u is "
			     "recorded",
			     why, 1u << level);
	else
		console_note("the spool is filling up: for now, one small block in %u is recorded",
			     1u << level);
}

/* Reports once that packing does not keep up, and that records wait on the disk. */
static void tell_behind(struct record_job *j, uint64_t waiting)
{
	char a[32], b[32];

	if (j->told_spool || waiting * sizeof(struct mz_record) < RECORD_SPOOL_TOLD || is_quiet(j))
		return;
	j->told_spool = true;
	console_note("records wait to be encoded: %s in the spool, which is in %s and may hold %s",
		     console_bytes(a, waiting * sizeof(struct mz_record)), record_spool_name(j),
		     console_bytes(b, j->rings.spool.limit));
}

/* Is packing to wait? Not if a good part of the spool is used: it could become full, and events
 * would be lost. */
static bool leave_to_program(struct record_job *j)
{
	uint64_t waiting, moved;
	bool full;

	mz_user_rings_backlog(&j->rings, &waiting, &moved, &full);
	look_at_rate(j, moved);
	tell_behind(j, waiting);
	tell_thinning(j);
	return !full && !child_ended && waiting * sizeof(struct mz_record) < j->may_wait;
}

/* Reports how much is left to pack, if it is a lot. */
static void tell_packing(struct record_job *j)
{
	uint64_t waiting, moved;
	char a[32];
	bool full;

	mz_user_rings_backlog(&j->rings, &waiting, &moved, &full);
	if (waiting >= MZ_USER_MUCH && !is_quiet(j))
		console_note("the program has ended; encoding %s records",
			     console_count(a, waiting));
}

/* Encodes the records from before the end of the program, in parts, so that the progress can be
 * shown. */
static int encode_rest(struct record_job *j)
{
	uint64_t all, moved, done = 0;
	struct progress progress;
	bool full;
	long n = 1;

	mz_user_rings_backlog(&j->rings, &all, &moved, &full);
	progress_start(&progress, "encoding");
	progress.quiet |= is_quiet(j);
	while (n > 0 && done < all && all >= MZ_USER_MUCH && !told_to_end) {
		n = mz_user_rings_drain_some(&j->rings);
		done += n > 0 ? (uint64_t)n : 0;
		progress_show(&progress, (double)done / (double)all, done, "records");
	}
	progress_end(&progress);
	return n < 0 ? (int)n : 0;
}

/* Records until the program, and all programs that are recorded with it, have ended. */
static int follow(struct record_job *j)
{
	unsigned quiet = 0;

	for (;;) {
		int left;
		long n;

		if (!j->exited && !j->attached && waitpid(j->pid, &j->status, WNOHANG) == j->pid) {
			j->exited = true;
			tell_packing(j);
			n = encode_rest(j);
			if (n < 0)
				return (int)n;
		}
		left = mz_user_rings_images(&j->rings);
		if (j->attached && !left)
			j->exited = true;
		if (told_to_end || time_is_up(j))
			return stop(j);
		if (left > 0 && leave_to_program(j)) {
			nanosleep(&(struct timespec){.tv_nsec = IDLE_NS}, NULL);
			continue;
		}
		n = left < 0 ? left : mz_user_rings_drain_some(&j->rings);
		if (n < 0)
			return (int)n;
		/* a child may be about to claim its slot */
		if (j->exited && !left && ++quiet > (j->o->follow_forks ? 3 : 0) &&
		    !mz_user_rings_expect(&j->rings))
			return 0;
		if (n < BATCH)
			mz_user_rings_sleep(&j->rings, n ? BUSY_NS : IDLE_NS / (j->exited ? 4 : 1));
	}
}

/* Recording may end before the program does: wait for the program, whose exit status is
 * returned. */
static void wait_for_program(struct record_job *j)
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

/* ---- the verb ----------------------------------------------------------------------- */

static int parse_depth(const struct record_opts *o, uint32_t *depth)
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
static int check_output(struct record_job *j)
{
	if (!strcmp(j->files.output, "-"))
		return mz_fail(&j->err, EINVAL,
			       "standard output is the program's; name a file with -o");
	return mz_atomic_file_check(j->files.output, j->o->force ? MZ_FILE_REPLACE : 0, &j->err);
}

static int follow_to_end(struct record_job *j)
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

static void set_start(struct record_job *j)
{
	j->start = now(CLOCK_MONOTONIC);
	j->files.start_unix = now(CLOCK_REALTIME);
}

/* A power of two, so that the dropped bits cost nothing in the file. */
static uint64_t resolution(const struct record_opts *o)
{
	uint64_t ns = o->resolution ? o->resolution : DEFAULT_RESOLUTION;

	return ns < 2 ? 0 : 1ull << (63 - __builtin_clzll(ns));
}

static int record(struct record_job *j, char **argv)
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
	j->pid = mz_user_start(argv, library, j->rings.fd, &j->rings.region->main_pid,
			       signals_restore, &j->err);
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

/* The program has created the memory, and waits. */
static int set_up(struct mz_attach *a, int fd, struct mz_error *err)
{
	struct record_job *j = a->arg;
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

static int begin_in(struct record_job *j)
{
	char library[PATH_MAX], real[PATH_MAX];
	int ret = mz_user_library(library, sizeof(library), &j->err);

	if (ret < 0)
		return ret;
	j->attach.set_up = set_up;
	j->attach.arg = j;
	/* an absolute path: the program may have another current folder */
	return mz_attach_begin(&j->attach, realpath(library, real) ? real : library, &j->err);
}

/* Memory of the region, which the program cannot give back: its threads may still be using it. */
static void empty_region(const struct record_job *j)
{
	if (j->detached)
		fallocate(j->rings.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  (off_t)MZ_REGION_BYTES);
}

static int record_pid(struct record_job *j)
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
		if (!is_quiet(j))
			console_note("recording pid %d; stop with Ctrl-C, the program continues",
				     (int)j->pid);
		ret = follow_to_end(j);
		empty_region(j);
	}
	mz_attach_close(&j->attach);
	return ret;
}

static int finish(struct record_job *j, int ret, const char *command)
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
				: "the program did not load the library; is it statically linked, "
				  "privileged, "
				  "or "
				  "in a container?");
		return record_exit_status(j) ? record_exit_status(j) : MZ_EXIT_FAILED;
	}
	j->program_ended = child_ended;
	if (j->o->json)
		record_tell_json(j);
	else
		record_tell(j);
	return record_exit_status(j);
}

/* The command line is taken from here: a program that ends at once is gone before its arguments
 * could be read. */
static const char *command_line(int argc, char **argv)
{
	static char line[4096];
	size_t n = 0;

	for (int i = 0; i < argc && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", argv[i]);
	return line;
}

/* Like the next ones: -1, or the exit status for wrong usage. */
static int set_sample(struct record_job *j)
{
	uint32_t n;
	int ret;

	if (!j->o->sample)
		return -1;
	ret = kmemtraced_parse_sample(j->o->sample, &n);
	if (ret >= 0)
		return ret;
	if (n & (n - 1) || n > 1u << MZ_THIN_MOST)
		return console_usage("--sample: N of '%s' is not a power of two up to %u",
				     j->o->sample, 1u << MZ_THIN_MOST);
	j->files.sample = (unsigned)__builtin_ctz(n);
	return -1;
}

static int check_options(struct record_job *j, int argc)
{
	const struct record_opts *o = j->o;

	if (!argc == !o->pid)
		return console_usage(
			"no command given; use memorizer record -- CMD ARGS, --pid PID or "
			"--kernel");
	if (o->drop && o->wait)
		return console_usage("--drop and --wait exclude each other");
	if (o->spool && access(o->spool, W_OK | X_OK))
		return console_fail("%s: cannot hold the spool: %s", o->spool, strerror(errno));
	if (o->pid > INT_MAX)
		return console_usage("--pid takes the number of a process");
	if (parse_depth(o, &j->depth))
		return console_usage("--stacks takes a depth of 1 to %u, not '%s'", MZ_STACK_DEPTH,
				     o->stacks);
	return set_sample(j);
}

static unsigned region_flags(const struct record_opts *o)
{
	return (o->follow_forks ? MZ_REGION_FORKS : 0) | (o->other_users ? MZ_REGION_USERS : 0) |
	       (o->mmap ? MZ_REGION_MMAP : 0) | (o->drop ? MZ_REGION_DROP : 0) |
	       (o->wait ? MZ_REGION_WAIT : 0);
}

/* What the caller ignores, as nohup does, stays ignored. */
static void catch_unless_ignored(int sig)
{
	struct sigaction sa = {.sa_handler = on_signal};

	if (!signals_ignored(sig))
		sigaction(sig, &sa, NULL);
}

/* The terminal's signals are the program's; the recorder ends after it. */
static void catch_signals(const struct record_opts *o)
{
	if (o->pid)
		catch_unless_ignored(SIGINT);
	else
		signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	catch_unless_ignored(SIGTERM);
	catch_unless_ignored(SIGHUP);
}

static int run_program(const struct record_opts *o, int argc, char **argv)
{
	static struct record_job j; /* large: the state of 2,000 rings */
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
	ret = check_options(&j, argc);
	if (ret >= 0)
		return ret;
	j.flags = region_flags(o);
	j.files.attached = j.o->pid;
	j.files.command = command_line(argc, argv);
	argv[argc] = NULL; /* options may have followed the command */
	catch_signals(o);
	/* the default value, but fixed: arrays that grow leave no holes in the heap */
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	ret = j.o->pid ? record_pid(&j) : record(&j, argv);
	ret = finish(&j, ret, argc ? argv[0] : "");
	mz_user_rings_deinit(&j.rings);
	mz_user_files_free(&j.files);
	return ret;
}

static int run_kernel(struct record_opts *o, int argc, char **argv)
{
	struct kmemtraced_opts *k = &o->kernel;

	if (o->stacks && *o->stacks)
		return console_usage(
			"--stacks takes no depth with --kernel: it keeps whole stacks");
	k->output = o->output;
	k->stacks = o->stacks != NULL;
	k->pid = o->pid;
	k->duration = o->duration;
	k->sample = o->sample;
	k->force = o->force;
	k->quiet = o->quiet;
	k->json = o->json;
	k->as_command = true;
	return kmemtraced_run(k, argc, argv);
}

extern const struct mz_cmd cmd_record;

static int run(void *options, int argc, char **argv)
{
	struct record_opts *o = options;
	int ret = options_check_scope(&cmd_record, o, o->of_kernel ? OF_KERNEL : OF_PROGRAM);

	if (ret >= 0)
		return ret;
	return o->of_kernel ? run_kernel(o, argc, argv) : run_program(o, argc, argv);
}

MZ_CMD(record, "record", struct record_opts,
       "[--] CMD [ARGS] | --pid PID | --kernel [--] [CMD [ARGS]]",
       "record the heap use of a program, or the kernel's allocations", .scopes = scopes,
       .raw_tail = true);
