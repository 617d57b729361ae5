// SPDX-License-Identifier: BSD-2-Clause
/* Record the allocations and frees of the running kernel. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/kernel/kmem.h"
#include "cmds/record/kmemtraced.h"
#include "cmds/signals.h"
#include "record/kmem.h"
#include "record/relay.h"
#include "record/user_start.h"
#include "symbols/kallsyms.h"

/* How often the kernel's loss counters are read: a loss is located to within this time. */
#define LOOK_NS		    20000000
/* The additional cost of --rescue per event (docs/measured.md). */
#define RESCUE_NS	    80.0
#define DEFAULT_SUBBUFS	    20
/* The number of the namespace that every system begins with (PROC_PID_INIT_INO) */
#define FIRST_PID_NAMESPACE 0xeffffffcu
#define DEFAULT_SUBBUF	    (512u * 1024)

const char *const kmemtraced_sources[] = {"auto", "relay", "bpf", NULL};

struct kmemtraced_line {
	struct kmemtraced_opts o;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct kmemtraced_line, o.output,
	       "write into the folder OUT, which is created (default: kmemtrace.data, or the "
	       "current "
	       "folder if called as kmemtraced)"),
	MZ_SWITCH('f', "force", struct kmemtraced_line, o.force, "replace a recording in OUT"),
	MZ_SWITCH(0, "stacks", struct kmemtraced_line, o.stacks, "record whole call stacks"),
	MZ_OPT('p', "pid", "PID", MZ_OPT_U64, struct kmemtraced_line, o.pid,
	       "only allocations of this process, and their frees by any process"),
	MZ_OPT(0, "duration", "SECONDS", MZ_OPT_DOUBLE, struct kmemtraced_line, o.duration,
	       "stop after so many seconds"),
	MZ_OPT(0, "sample", "1/N", MZ_OPT_STR, struct kmemtraced_line, o.sample,
	       "one block in N, from its allocation to its free"),
	KMEMTRACED_OPTS(0, struct kmemtraced_line, o),
	MZ_SWITCH('q', "quiet", struct kmemtraced_line, o.quiet, "show no progress"),
	MZ_SWITCH(0, "json", struct kmemtraced_line, o.json, "print the account as JSON"),
	{0},
};

/* ---- options ------------------------------------------------------------ */

static int parse_events(const char *list, unsigned *groups)
{
	static const struct {
		const char *name;
		unsigned bit;
	} names[] = {{"slab", MZ_KMEM_SLAB},
		     {"pages", MZ_KMEM_PAGES},
		     {"vmalloc", MZ_KMEM_VMALLOC},
		     {"percpu", MZ_KMEM_PERCPU}};

	*groups = 0;
	while (*list) {
		size_t len = strcspn(list, ","), i;

		for (i = 0; i < 4; i++)
			if (strlen(names[i].name) == len && !strncmp(list, names[i].name, len))
				break;
		if (i == 4)
			return console_usage(
				"--events: '%.*s' is not one of slab, pages, vmalloc, percpu",
				(int)len, list);
		*groups |= names[i].bit;
		list += len + (list[len] == ',');
	}
	return *groups ? -1
		       : console_usage(
				 "--events: name at least one of slab, pages, vmalloc, percpu");
}

int kmemtraced_parse_sample(const char *text, uint32_t *n)
{
	char *end;
	unsigned long v;

	if (strncmp(text, "1/", 2))
		return console_usage("--sample: '%s' is not of the form 1/N", text);
	v = strtoul(text + 2, &end, 10);
	if (*end || !v || v > 1000000)
		return console_usage("--sample: N of '%s' is not between 1 and 1000000", text);
	*n = (uint32_t)v;
	return -1;
}

/* The number of a cgroup is that of its folder. */
static int parse_cgroup(const char *path, uint64_t *id)
{
	struct {
		struct file_handle h;
		uint64_t id;
	} f = {.h.handle_bytes = 8};
	struct statfs fs;
	int mount;

	if (!statfs(path, &fs) && fs.f_type != CGROUP2_SUPER_MAGIC)
		return console_fail("--cgroup: %s: is not a folder of cgroup version 2 (see: "
				    "findmnt -t cgroup2)",
				    path);
	if (name_to_handle_at(AT_FDCWD, path, &f.h, &mount, 0))
		return console_fail(
			"--cgroup: %s: %s; give the path of a folder of cgroup version 2", path,
			strerror(errno));
	memcpy(id, f.h.f_handle, 8);
	return -1;
}

/* The kernel's numbers are those of the first namespace: in another one, a process that is not seen
 * may exist. */
static bool sees_all_processes(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == FIRST_PID_NAMESPACE;
}

/* A filter that nothing can match would record nothing. */
static int check_pid(uint64_t pid)
{
	if (pid > INT_MAX)
		return console_usage("--pid takes the number of a process");
	if (pid && kill((pid_t)pid, 0) && errno == ESRCH && sees_all_processes())
		return console_fail("--pid: there is no process %d", (int)pid);
	return -1;
}

static int parse(const struct kmemtraced_opts *o, struct mz_kmem_options *k)
{
	int ret = parse_events(o->events ? o->events : "slab", &k->groups);

	if (ret < 0 && o->sample)
		ret = kmemtraced_parse_sample(o->sample, &k->sample);
	if (ret < 0 && o->cgroup)
		ret = parse_cgroup(o->cgroup, &k->cgroup);
	if (ret < 0)
		ret = check_pid(o->pid);
	if (ret >= 0)
		return ret;
	k->ring_bytes = (o->subbufs ? o->subbufs : DEFAULT_SUBBUFS) *
			(o->subbuf_size ? o->subbuf_size : DEFAULT_SUBBUF);
	if (k->ring_bytes > (uint64_t)1 << 30)
		return console_usage("--subbufs, --subbuf-size: a ring of %" PRIu64
				     " bytes per CPU exceeds 1 GiB",
				     k->ring_bytes);
	if (o->duration < 0)
		return console_usage("--duration: the time is negative");
	if (o->live_blocks && !o->summary)
		return console_usage("--live-blocks applies to --summary only; a recording "
				     "contains every block");
	if (o->live_blocks > MZ_KMEM_LIVE_MOST)
		return console_usage("--live-blocks: at most %u", MZ_KMEM_LIVE_MOST);
	k->live_blocks = (uint32_t)o->live_blocks;
	k->pid = (uint32_t)o->pid;
	k->cache = o->cache;
	k->stacks = o->stacks;
	k->rescue = o->rescue;
	k->summary = o->summary;
	return -1;
}

/* kmemtrace in the kernel records everything: filters and counting need BPF. */
static int choose_source(const struct kmemtraced_opts *o, bool *relay)
{
	const char *bpf_only = o->events    ? "--events"
			       : o->rescue  ? "--rescue"
			       : o->cache   ? "--cache"
			       : o->pid	    ? "--pid"
			       : o->cgroup  ? "--cgroup"
			       : o->sample  ? "--sample"
			       : o->summary ? "--summary"
					    : NULL;

	*relay = o->source == KMEMTRACED_RELAY || o->drain ||
		 (o->source == KMEMTRACED_AUTO && mz_relay_there() && !bpf_only);
	if (o->source == KMEMTRACED_BPF && o->drain)
		return console_usage("--drain applies to --source relay only");
	if (*relay && bpf_only)
		return console_usage("%s does not apply to kmemtrace in the kernel, which records "
				     "everything; leave out %s",
				     bpf_only, o->drain ? "--drain" : "--source relay");
	if (*relay && !mz_relay_there())
		return console_fail(MZ_RELAY_ROOT
				    ": not there; is this a kernel with CONFIG_KMEMTRACE, and is "
				    "debugfs mounted (mount -t debugfs none /sys/kernel/debug)?");
	if (*relay && (o->subbufs || o->subbuf_size))
		console_note("the kernel's buffers are set at boot: kmemtrace.subbufs=N, "
			     "kmemtrace.subbuf_size=SIZE");
	return -1;
}

/* ---- the folder --------------------------------------------------------- */

/* A folder that we made, or that belongs to us already: never one that another user prepared. */
static int make_dir(struct kmemtraced_job *j)
{
	struct stat st;
	char path[600];

	if (strlen(j->dir) > 480)
		return mz_fail(&j->err, ENAMETOOLONG, "%s: the name is too long", j->dir);
	if (!mkdir(j->dir, 0700))
		return 0;
	if (errno != EEXIST)
		return mz_fail(&j->err, errno, "%s: cannot create the folder: %s", j->dir,
			       strerror(errno));
	if (lstat(j->dir, &st) || !S_ISDIR(st.st_mode))
		return mz_fail(&j->err, ENOTDIR,
			       "%s: exists and is not a folder; name another with -o", j->dir);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return mz_fail(&j->err, EPERM,
			       "%s: other users may write into this folder; name another with -o",
			       j->dir);
	snprintf(path, sizeof(path), "%s/cpu0.out", j->dir);
	if (!j->o->force && !access(path, F_OK))
		return mz_fail(&j->err, EEXIST,
			       "%s: contains a recording; replace it with -f, or name another "
			       "folder with -o",
			       j->dir);
	return 0;
}

int kmemtraced_begin_dir(struct kmemtraced_job *j)
{
	int ret = make_dir(j);

	if (ret < 0)
		return ret;
	if (!j->o->quiet)
		console_note("Copying /proc/kallsyms...");
	return mz_kmem_save_kallsyms(j->dir, &j->err);
}

/* The privileges for attaching are not needed any more; those for reading maps and programs are. */
void kmemtraced_drop_rights(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};
	uint32_t keep = 1u << (39 - 32); /* CAP_BPF */

	if (syscall(SYS_capget, &h, d))
		return;
	d[0].effective = d[0].permitted = d[0].inheritable = 0;
	d[1].effective &= keep;
	d[1].permitted &= keep;
	d[1].inheritable = 0;
	syscall(SYS_capset, &h, d);
}

/* ---- the command -------------------------------------------------------- */

static int start_command(struct kmemtraced_job *j, const sigset_t *old)
{
	int p[2];

	if (!j->command)
		return 0;
	if (pipe2(p, O_CLOEXEC))
		return mz_fail(&j->err, errno, "cannot create a pipe: %s", strerror(errno));
	j->child = fork();
	if (j->child < 0)
		return mz_fail(&j->err, errno, "cannot start a process: %s", strerror(errno));
	if (!j->child) {
		char c;

		close(p[1]);
		sigprocmask(SIG_SETMASK, old, NULL);
		if (read(p[0], &c, 1) < 0) /* until the recorder is ready */
			_exit(127);
		signals_restore();
		execvp(j->command[0], j->command);
		fprintf(stderr, "%s: cannot run: %s\n", j->command[0], strerror(errno));
		_exit(127);
	}
	close(p[0]);
	j->go = p[1];
	return 0;
}

static void reap(struct kmemtraced_job *j)
{
	if (j->child > 0 && !j->child_done &&
	    waitpid(j->child, &j->child_status, WNOHANG) == j->child)
		j->child_done = true;
}

/* ---- while it runs ------------------------------------------------------ */

static void show_progress(struct kmemtraced_job *j, const struct kmemtraced_source *src,
			  struct kmemtraced_progress *last)
{
	struct kmemtraced_progress now = {.time = mz_now_ns()};
	double s = (double)(now.time - last->time) / 1e9;
	char total[32], lost[32];

	src->progress(j, &now);
	fprintf(stderr, "\r%8.0f events/s  %6.2f MB/s  %s events  lost %s \033[K",
		(double)(now.events - last->events) / s,
		(double)(now.bytes > last->bytes ? now.bytes - last->bytes : 0) / 1e6 / s,
		console_count(total, now.events), console_count(lost, now.lost));
	fflush(stderr);
	*last = now;
}

static void bpf_progress(struct kmemtraced_job *j, struct kmemtraced_progress *p)
{
	struct mz_kmem_counts n;

	mz_kmem_counts(j->k, &n);
	p->events = n.recorded;
	p->lost = mz_kmem_lost(&n);
	p->bytes = mz_kmem_bytes(j->k);
}

static int bpf_failed(struct kmemtraced_job *j)
{
	return mz_kmem_failed(j->k, &j->err);
}

static const struct kmemtraced_source bpf_source = {bpf_progress, bpf_failed};

/* Until a signal, the end of the time, the end of the command, or a fault. */
int kmemtraced_wait(struct kmemtraced_job *j, const struct kmemtraced_source *src,
		    const sigset_t *signals)
{
	bool live = isatty(STDERR_FILENO) && !j->o->quiet && !j->o->json;
	struct kmemtraced_progress last = {.time = mz_now_ns()};
	uint64_t until = UINT64_MAX;
	int ret = 0;

	j->began = mz_now_ns();
	if (j->o->duration > 0)
		until = j->began + (uint64_t)(j->o->duration * 1e9);
	if (j->child)
		close(j->go);
	while (!ret && !j->child_done && mz_now_ns() < until) {
		uint64_t left = until - mz_now_ns();
		struct timespec t = {.tv_nsec = left < LOOK_NS ? (long)left : LOOK_NS};
		int sig = sigtimedwait(signals, NULL, &t);

		if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP) {
			j->told_to_end = sig;
			break;
		}
		reap(j);
		ret = src->failed(j);
		if (live && mz_now_ns() - last.time > 500000000)
			show_progress(j, src, &last);
	}
	if (live)
		fprintf(stderr, "\r\033[K");
	j->ended = mz_now_ns();
	return ret;
}

/* ---- the account -------------------------------------------------------- */

static void print_json(const struct kmemtraced_job *j, const struct mz_kmem_counts *n)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};

	mz_json_object(&w, NULL);
	mz_json_str(&w, "path", j->dir);
	mz_json_u64(&w, "cpus", mz_kmem_cpus(j->k));
	mz_json_double(&w, "seconds", (double)(j->ended - j->began) / 1e9);
	mz_json_u64(&w, "produced", mz_kmem_produced(n));
	mz_json_u64(&w, "events", mz_kmem_written(j->k));
	mz_json_object(&w, "lost");
	mz_json_u64(&w, "total", mz_kmem_lost(n));
	mz_json_u64(&w, "ring_full", n->full);
	mz_json_u64(&w, "reentry", n->deep + mz_kmem_reentry(n));
	mz_json_end_object(&w);
	mz_json_u64(&w, "rescued", n->rescued);
	mz_json_u64(&w, "null_frees", n->nulls);
	mz_json_u64(&w, "own", n->own);
	mz_json_u64(&w, "not_asked_for", n->filtered);
	mz_json_u64(&w, "bytes", mz_kmem_bytes(j->k));
	mz_json_u64(&w, "ring_bytes", mz_kmem_ring_bytes(j->k));
	mz_json_end_object(&w);
	console_put(&b, stdout);
}

static int command_status(const struct kmemtraced_job *j)
{
	return WIFEXITED(j->child_status) ? WEXITSTATUS(j->child_status)
					  : 128 + WTERMSIG(j->child_status);
}

void kmemtraced_say_end(const struct kmemtraced_job *j)
{
	char next[PATH_MAX + 64];

	if (j->child_done && j->child_status)
		console_note("the command ended with status %d", command_status(j));
	/* under its old name it names the old report */
	console_note("next: %s %s",
		     strcmp(console_name(), "kmemtraced") ? "memorizer report" : "kmemtrace-report",
		     console_argument(next, sizeof(next), j->dir));
}

/* An empty recording is verified, too: say why it is empty. */
static void say_no_match(const struct kmemtraced_opts *o, const struct mz_kmem_counts *n)
{
	char pid[16], count[32];

	if (n->recorded || !n->filtered)
		return;
	snprintf(pid, sizeof(pid), "%" PRIu64, o->pid);
	console_note("nothing matched%s%s%s%s%s%s: none of the %s events passed the filters",
		     o->pid ? " --pid " : "", o->pid ? pid : "", o->cache ? " --cache " : "",
		     o->cache ? o->cache : "", o->cgroup ? " --cgroup " : "",
		     o->cgroup ? o->cgroup : "", console_count(count, n->filtered));
	if (o->cache)
		console_note("the names of the caches are in /proc/slabinfo");
}

static void print_account(const struct kmemtraced_job *j, const struct mz_kmem_counts *n)
{
	uint64_t written = mz_kmem_written(j->k), bytes = mz_kmem_bytes(j->k);
	char a[32], b[32], c[32], d[32], e[32], lost[64];

	console_note("%s events of %u CPUs in %.1f s, %s (%.2f bytes per event), in %s",
		     console_count(a, written), mz_kmem_cpus(j->k),
		     (double)(j->ended - j->began) / 1e9, console_bytes(b, bytes),
		     written ? (double)bytes / (double)written : 0.0, j->dir);
	console_note("produced %s = written %s + lost %s (ring full %s, re-entry %s): verified",
		     console_count(a, mz_kmem_produced(n)), console_count(b, written),
		     console_count(c, mz_kmem_lost(n)), console_count(d, n->full),
		     console_count(e, n->deep + mz_kmem_reentry(n)));
	console_note("not recorded: %s frees of NULL, %s events of the recorder itself%s%s",
		     console_count(a, n->nulls), console_count(b, n->own),
		     n->filtered ? ", excluded by filters: " : "",
		     n->filtered ? console_count(c, n->filtered) : "");
	say_no_match(j->o, n);
	if (n->no_cache || n->no_stack || n->no_free)
		console_note(
			"incomplete: %s events without the name of their cache, %s without their "
			"stack, %s blocks whose free was left out",
			console_count(a, n->no_cache), console_count(b, n->no_stack),
			console_count(c, n->no_free));
	if (n->full)
		console_note("the rings were too small: try --subbufs %" PRIu64,
			     (j->o->subbufs ? j->o->subbufs : DEFAULT_SUBBUFS) * 4);
	if (mz_kmem_reentry(n) && !j->o->rescue)
		console_note("%s because an interrupt arrived while the recorder's BPF program was "
			     "running: --rescue would have recorded them, for about %.2f s more of "
			     "processor time",
			     console_lost(lost, mz_kmem_reentry(n)),
			     (double)mz_kmem_produced(n) * RESCUE_NS / 1e9);
	kmemtraced_say_end(j);
}

/* ---- from start to end -------------------------------------------------- */

/* Whatever fails, the files are finished: the events are there. The first message is kept. */
static int finish_bpf(struct kmemtraced_job *j)
{
	int stopped = mz_kmem_stop(j->k, &j->err);
	int tables = mz_kmem_save_tables(j->k, j->dir, &j->err);
	int finished = mz_kmem_finish(j->k, &j->err);
	int loss = mz_kmem_save_loss(j->k, j->dir, &j->err);

	return stopped < 0 || tables < 0 || finished < 0 || loss < 0 ? -1 : 0;
}

static int record_bpf(struct kmemtraced_job *j, const sigset_t *signals)
{
	struct mz_kmem_counts n;
	int ret;

	if (!j->o->summary && kmemtraced_begin_dir(j) < 0)
		return console_error(&j->err);
	if (j->o->summary) /* before privileges are dropped: without them, addresses are hidden */
		j->syms = mz_kallsyms_load("/proc/kallsyms", NULL);
	setpriority(PRIO_PROCESS, 0, -15); /* fails without privileges; recording is then slower */
	if (mz_kmem_attach(j->k, &j->err) < 0)
		return console_error(&j->err);
	kmemtraced_drop_rights();
	if (!j->o->summary && mz_kmem_start(j->k, j->dir, j->o->force, &j->err) < 0) {
		mz_kmem_detach(j->k);
		mz_kmem_finish(j->k, NULL);
		return console_error(&j->err);
	}
	if (!j->o->quiet)
		console_note("Logging... Press Control-C to stop.");
	ret = kmemtraced_wait(j, &bpf_source, signals);
	mz_kmem_detach(j->k);
	if (j->o->summary)
		return kmem_print_summary(j->k, j->syms, j->o->limit.n, j->ended - j->began,
					  j->o->json, j->o->live_blocks);
	if (finish_bpf(j) < 0 || ret < 0)
		return console_error(&j->err);
	mz_kmem_counts(j->k, &n);
	if (j->o->json)
		print_json(j, &n);
	else
		print_account(j, &n);
	return MZ_EXIT_OK;
}

/* Under its old name it leaves the files where the original left them. */
static const char *default_dir(void)
{
	return strcmp(console_name(), "kmemtraced") ? "kmemtrace.data" : ".";
}

/* Recording may end before the command does, which continues; unless it is to end. */
static void wait_for_command(struct kmemtraced_job *j, const sigset_t *signals)
{
	int sig = j->told_to_end;

	for (reap(j); j->child > 0 && !j->child_done; reap(j)) {
		if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
			kill(j->child, sig == SIGINT ? SIGTERM : sig);
		sig = sigwaitinfo(signals, NULL);
	}
}

int kmemtraced_run(const struct kmemtraced_opts *o, int argc, char **argv)
{
	struct kmemtraced_job j = {.o = o, .dir = default_dir()};
	struct mz_kmem_options k = {0};
	sigset_t signals, old;
	bool relay = false;
	int ret = parse(j.o, &k);

	if (ret < 0)
		ret = choose_source(j.o, &relay);
	if (ret >= 0)
		return ret;
	if (argc && mz_user_find_command(argv[0], &j.err) < 0)
		return console_error(&j.err);
	if (j.o->output)
		j.dir = j.o->output;
	j.command = argc ? argv : NULL;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &old);
	if (!relay)
		j.k = mz_kmem_load(&k, &j.err);
	if ((!relay && !j.k) || start_command(&j, &old) < 0)
		ret = console_error(&j.err);
	else
		ret = relay ? kmemtraced_relay(&j, &signals) : record_bpf(&j, &signals);
	if (ret == MZ_EXIT_FAILED && !j.told_to_end)
		j.told_to_end = SIGTERM;
	wait_for_command(&j, &signals);
	mz_kallsyms_free(j.syms);
	mz_kmem_free(j.k);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return !ret && j.o->as_command && j.child_done ? command_status(&j) : ret;
}

static int run(void *options, int argc, char **argv)
{
	const struct kmemtraced_line *o = options;

	return kmemtraced_run(&o->o, argc, argv);
}

static const char *const aliases[] = {"kmemtraced", NULL};

MZ_CMD(kmemtraced, "kmemtraced", struct kmemtraced_line, "[-- COMMAND...]",
       "record the allocations of the running kernel", .aliases = aliases, .raw_tail = true);
