// SPDX-License-Identifier: BSD-2-Clause
/* Start the decoder process and run the replay threads. */
#include "replay/run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "formats/text.h"
#include "replay/feed.h"

/* One queue: long batches. Many: short ones; otherwise the queues would take too much memory. */
#define ONE_BATCHES  256
#define ONE_OPS	     MZ_ENGINE_OPS
#define MANY_BATCHES 4
#define MANY_OPS     128
#define MAX_THREADS  4096

/* Provided by the recorder's library when it is in this process: notes in its trace where the
 * replay begins and ends. */
void memorizer_mark(const char *text) __attribute__((weak));

static void mark(const char *text)
{
	if (memorizer_mark)
		memorizer_mark(text);
}

/* ---- the input, without the heap ----------------------------------------- */

static int copy_all(int from, int to, const char *name, struct mz_error *err)
{
	char buf[64 * 1024];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mz_fail(err, errno, "%s: cannot read: %s", name, strerror(errno));
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, buf + done, (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return mz_fail(err, errno, "%s: cannot store a copy: %s", name,
					       strerror(errno));
			done += w > 0 ? w : 0;
		}
	}
	return 0;
}

/* Input that is read more than once must be seekable. */
static int open_input(const char *path, bool again, struct mz_error *err)
{
	bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int copy, ret;

	if (fd < 0)
		return mz_fail(err, errno, "%s: %s", name, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return mz_fail(err, EISDIR,
			       "%s: is a directory, not a trace; 'memorizer convert' joins the "
			       "files of a kernel recording",
			       name);
	}
	if (!again || lseek(fd, 0, SEEK_CUR) >= 0)
		return fd;
	copy = memfd_create("memorizer-replay", MFD_CLOEXEC);
	ret = copy < 0 ? mz_fail(err, errno, "%s: cannot store a copy: %s", name, strerror(errno))
		       : copy_all(fd, copy, name, err);
	close(fd);
	if (ret < 0 && copy >= 0)
		close(copy);
	return ret < 0 ? ret : copy;
}

/* ---- the decoder's process ----------------------------------------------- */

static pid_t fork_child(struct mz_error *err)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return mz_fail(err, errno, "cannot start the decoder: %s", strerror(errno));
	if (!pid) {
		/* never outlive the replay */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* How many threads: a child reads the trace, so that the heap here stays untouched. */
static int scan_threads(int fd, const char *name, const struct mz_replay_opts *o,
			struct mz_error *err)
{
	struct mz_error *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, ret = -EIO;
	pid_t pid;

	if (shared == MAP_FAILED)
		return mz_fail_memory(err);
	pid = fork_child(err);
	if (!pid) {
		ret = mz_feed_scan(fd, name, o->flags, shared);
		shared->offset = ret > 0 ? (uint64_t)ret : 0;
		_exit(ret < 0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid) {
		ret = (int)shared->offset;
		if (shared->code || !ret) {
			*err = *shared;
			ret = mz_fail(err, EIO, "%s: the process that was reading it was killed",
				      name);
		}
	}
	munmap(shared, sizeof(*shared));
	return ret;
}

/* ---- the replay ----------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct mz_engine *engine;
	pthread_barrier_t *begin, *end;
	unsigned queue;
	_Atomic unsigned *running;
	struct mz_engine_counts counts;
	int ret;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	char name[32] = "replay thread ";

	mz_put_u64(name + strlen(name), w->queue);
	mark(name);
	pthread_barrier_wait(w->begin);
	w->ret = mz_engine_run(w->engine, w->queue, &w->counts);
	mark("replay thread ends");
	atomic_fetch_sub(w->running, 1);
	pthread_barrier_wait(w->end);
	return NULL;
}

static void add_counts(struct mz_engine_counts *sum, const struct mz_engine_counts *c)
{
	sum->ops += c->ops;
	sum->ns += c->ns;
	sum->best_ns += c->best_ns;
	sum->failed += c->failed;
	sum->given += c->given;
	sum->waits += c->waits;
	if (c->late_ns > sum->late_ns)
		sum->late_ns = c->late_ns;
}

/* This thread only waits and takes samples. */
static void sample_threads(struct mz_engine *e, _Atomic unsigned *running)
{
	struct timespec pause = {.tv_nsec = 1000000};

	while (e->samples && atomic_load(running)) {
		mz_engine_sample(e, 0, mz_engine_clock() - e->start);
		nanosleep(&pause, NULL);
	}
}

static void timed(struct mz_engine *e, struct mz_replay_result *res, struct worker *workers)
{
	struct rusage before, after;
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		/* makes the peak that of the replay; if this fails, it is that of the process */
		if (write(fd, "5", 1) < 0)
			res->rss_peak = 0;
		close(fd);
	}
	res->rss_before = mz_engine_status("VmRSS:");
	getrusage(RUSAGE_SELF, &before);
	mark("replay begins");
	e->start = mz_engine_clock();
	if (workers[0].begin) {
		pthread_barrier_wait(workers[0].begin);
		sample_threads(e, workers[0].running);
		pthread_barrier_wait(workers[0].end);
	} else {
		workers[0].ret = mz_engine_run(e, 0, &workers[0].counts);
	}
	res->wall_ns = mz_engine_clock() - e->start;
	mark("replay ends");
	getrusage(RUSAGE_SELF, &after);
	res->rss_peak = mz_engine_status("VmHWM:");
	res->rss_after = mz_engine_status("VmRSS:");
	res->minor_faults = (uint64_t)(after.ru_minflt - before.ru_minflt);
	res->major_faults = (uint64_t)(after.ru_majflt - before.ru_majflt);
}

static int start_threads(struct worker *w, unsigned n, struct mz_error *err)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	for (unsigned i = 0; i < n; i++) {
		int ret = pthread_create(&w[i].thread, &attr, work, &w[i]);

		/* those that run wait for a start that never comes: the process is
		 * about to end with this error */
		if (ret)
			return mz_fail(err, ret, "cannot start thread %u of %u: %s", i + 1, n,
				       strerror(ret));
	}
	pthread_attr_destroy(&attr);
	return 0;
}

static int run_workers(struct mz_engine *e, unsigned n, bool threads, struct mz_replay_result *res,
		       struct mz_error *err)
{
	size_t bytes = n * sizeof(struct worker);
	struct worker *w =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_t begin, end;
	_Atomic unsigned running = n;
	int ret = 0;

	if (w == MAP_FAILED)
		return mz_fail_memory(err);
	pthread_barrier_init(&begin, NULL, n + 1);
	pthread_barrier_init(&end, NULL, n + 1);
	for (unsigned i = 0; i < n; i++) {
		w[i] = (struct worker){.engine = e, .queue = i};
		if (threads) {
			w[i].begin = &begin;
			w[i].end = &end;
			w[i].running = &running;
		}
	}
	if (threads)
		ret = start_threads(w, n, err);
	if (!ret)
		timed(e, res, w);
	for (unsigned i = 0; i < n && !ret; i++) {
		if (threads)
			pthread_join(w[i].thread, NULL);
		add_counts(&res->done, &w[i].counts);
	}
	for (unsigned i = 0; i < n && !ret; i++)
		ret = w[i].ret;
	munmap(w, bytes);
	return ret;
}

static int run_with_child(pid_t pid, struct mz_queues *q, const struct mz_replay_opts *o,
			  struct mz_replay_result *res, struct mz_error *err)
{
	struct mz_engine e;
	int status = 0, ret;

	if (mz_engine_init(&e, q) < 0)
		return mz_fail(err, ENOMEM,
			       "cannot reserve address space for the table of blocks; "
			       "is there a limit (ulimit -v)?");
	e.touch = o->touch;
	e.verbose = o->verbose;
	e.threads = o->threads;
	e.pace = o->pace;
	e.samples = o->samples;
	e.samples_cap = o->samples_cap;
	e.sample_every = 1;
	q->decoder = pid;
	ret = run_workers(&e, q->count, o->threads, res, err);
	mz_queues_stop(q);
	if (ret < 0 && ret != -EPIPE)
		kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	if (ret == -EPIPE) {
		err->code = 0;
		*err = q->error;
		/* with --verbose, it is also the one that prints */
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
			mz_fail(err, EPIPE, "standard output: cannot write: %s", strerror(EPIPE));
		mz_fail(err, EPIPE, "the process that decodes the trace was killed");
	} else if (ret == -ENOMEM) {
		mz_fail(err, ENOMEM, "no memory for the table of blocks");
	}
	res->trace = q->counts;
	res->threads = q->count;
	res->table_bytes = e.slots_ready * (sizeof(*e.slots) + (o->threads ? sizeof(*e.turns) : 0));
	res->samples = e.samples_count;
	res->samples_by_time = o->threads;
	mz_engine_deinit(&e);
	return ret;
}

static int decode(const char *path, int fd, struct mz_queues *q, const struct mz_replay_opts *o)
{
	struct mz_feed f = {.fd = fd,
			    .name = strcmp(path, "-") ? path : "standard input",
			    .queues = q,
			    .threads = o->threads,
			    .rounds = o->rounds ? o->rounds : 1,
			    .free_rest = o->free_rest,
			    .flags = o->flags,
			    .touches = o->touch == MZ_TOUCH_ALL,
			    .print = o->verbose ? STDOUT_FILENO : -1};

	return mz_feed_run(&f);
}

int mz_replay(const char *path, const struct mz_replay_opts *o, struct mz_replay_result *res,
	      struct mz_error *err)
{
	int fd = open_input(path, o->rounds > 1 || o->threads, err);
	struct mz_replay_opts one;
	struct mz_queues *q;
	int threads = 1, ret;
	pid_t pid;

	*res = (struct mz_replay_result){0};
	if (fd < 0)
		return fd;
	if (o->threads)
		threads = scan_threads(fd, strcmp(path, "-") ? path : "standard input", o, err);
	if (threads == 1 && o->threads && !o->pace) {
		/* the loop for one thread is faster: it never waits */
		one = *o;
		one.threads = false;
		o = &one;
	}
	if (threads > MAX_THREADS)
		threads = mz_fail(err, E2BIG, "%s: %d threads; a replay takes at most %d", path,
				  threads, MAX_THREADS);
	if (threads < 0) {
		close(fd);
		return threads;
	}
	q = o->threads ? mz_queues_new((unsigned)threads, MANY_BATCHES, MANY_OPS)
		       : mz_queues_new(1, ONE_BATCHES, ONE_OPS);
	pid = q ? fork_child(err) : mz_fail_memory(err);
	if (!pid)
		_exit(decode(path, fd, q, o) < 0);
	ret = pid < 0 ? (int)pid : run_with_child(pid, q, o, res, err);
	mz_queues_free(q);
	close(fd);
	return ret;
}
