// SPDX-License-Identifier: BSD-2-Clause
/* Splice the kernel's relay buffers to files without reading the bytes. */
#include "record/relay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output.h"
#include "record/kmem_private.h"

/* splice() allocates pages for the whole length that is requested, and these allocations are
 * events: request little, often */
#define CHUNK	 (64u * 1024)
#define LOOK_MS	 200 /* relay wakes readers for whole sub-buffers only; poll for smaller amounts */
#define MUCH	 (CHUNK / 2)
#define MAX_CPUS 4096

struct cpu {
	struct mz_relay *r;
	unsigned cpu;
	int in, pipe[2];
	struct mz_output out;
	pthread_t thread;
	bool started;
	uint64_t bytes; /* read by others */
	uint64_t records;
	struct mz_error err; /* the thread's own until failed is set */
	bool failed;
};

struct mz_relay {
	struct mz_relay_options o;
	char dir[512];
	int enabled, stacks, counts; /* control files, open for as long as we need them */
	int tables[4];
	struct cpu *cpus;
	unsigned ncpus;
	int stop;
	bool was_on, read_before, verified;
	struct mz_relay_counts base; /* before this recording */
};

static const char *const table_names[4] = {"caches", "stacks", "gfp", "counts"};

bool mz_relay_there(void)
{
	return !access(MZ_RELAY_ROOT "/enabled", F_OK);
}

/* ---- control files -------------------------------------------------------- */

static int open_control(const char *name, int flags, struct mz_error *err)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), MZ_RELAY_ROOT "/%s", name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		mz_fail(err, errno, "%s: cannot open: %s; it needs root", path, strerror(errno));
	return fd;
}

/* The kernel allocates its buffers when tracing is first switched on, so this is where it may run
 * out. */
static int set(int fd, const char *name, bool on, struct mz_error *err)
{
	if (pwrite(fd, on ? "1" : "0", 1, 0) == 1)
		return 0;
	return mz_fail(err, errno, MZ_RELAY_ROOT "/%s: cannot write %d: %s%s", name, on,
		       strerror(errno),
		       errno == ENOMEM ? "; boot with a smaller kmemtrace.subbufs=" : "");
}

/* All of a file, from its start, with a NUL behind. */
static int read_all(int fd, struct mz_buf *b)
{
	ssize_t n = 1;
	off_t at = 0;

	while (n > 0 && mz_buf_room(b, 65536)) {
		n = pread(fd, b->data + b->len, 65535, at);
		b->len += n > 0 ? (size_t)n : 0;
		at += n > 0 ? n : 0;
	}
	if (n || b->failed)
		return n < 0 ? -errno : -ENOMEM;
	b->data[b->len] = '\0';
	return 0;
}

/* The number behind a name: "NAME NUMBER" on a line of its own. */
static uint64_t number_of(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

/* The columns are named in the line before the first CPU. */
static void add_rows(const char *text, struct mz_relay_counts *n, bool *consumed)
{
	uint64_t *const to[] = {NULL,	 &n->recorded, &n->full,     &n->early,	  &n->no_buffer,
				&n->nmi, &n->nulls,    &n->no_cache, &n->no_stack};
	const char *line = strstr(text, "\ncpu recorded ");

	line = line ? strchr(line + 1, '\n') : NULL;
	while (line && line[1]) {
		char *p = (char *)line + 1;

		for (unsigned i = 0; i < 11; i++) {
			uint64_t v = strtoull(p, &p, 10);

			if (i && i < 9)
				*to[i] += v;
			else if (i == 10)
				*consumed |= v != 0;
		}
		line = strchr(line + 1, '\n');
	}
	n->lost = n->full + n->early + n->no_buffer + n->nmi;
}

/* All counters come from one read of one file, so that they belong together. */
static int read_counts(struct mz_relay *r, struct mz_relay_counts *n, bool *consumed,
		       struct mz_error *err)
{
	struct mz_buf b = {0};
	int ret = read_all(r->counts, &b);

	*n = (struct mz_relay_counts){0};
	if (!ret) {
		n->sequence = (uint32_t)number_of(b.data, "sequence ");
		add_rows(b.data, n, consumed);
	}
	mz_buf_free(&b);
	return ret ? mz_fail(err, -ret, MZ_RELAY_ROOT "/counts: cannot read: %s", strerror(-ret))
		   : 0;
}

/* Since the start of this recording: the kernel counts from boot. */
int mz_relay_counts(struct mz_relay *r, struct mz_relay_counts *n, struct mz_error *err)
{
	const struct mz_relay_counts *b = &r->base;
	bool ignore;
	int ret = read_counts(r, n, &ignore, err);

	n->recorded -= b->recorded;
	n->lost -= b->lost;
	n->full -= b->full;
	n->early -= b->early;
	n->no_buffer -= b->no_buffer;
	n->nmi -= b->nmi;
	n->nulls -= b->nulls;
	n->no_cache -= b->no_cache;
	n->no_stack -= b->no_stack;
	n->sequence -= b->sequence;
	return ret;
}

/* ---- a CPU ---------------------------------------------------------------- */

static int cpu_fail(struct cpu *c, const char *what)
{
	return mz_fail(&c->err, errno ? errno : EIO, "%s: %s: %s", c->out.file.path, what,
		       strerror(errno));
}

/*
 * Write what is in the buffer to the file. Reading causes events, too: while tracing is on, a small
 * rest is left for the next time; otherwise this would never end. 0 or -errno.
 */
static int move(struct cpu *c, bool last)
{
	ssize_t n, left;

	do {
		n = splice(c->in, NULL, c->pipe[1], NULL, CHUNK, SPLICE_F_MOVE);
		for (left = n; left > 0;) {
			ssize_t w = splice(c->pipe[0], NULL, c->out.file.fd, NULL, (size_t)left,
					   SPLICE_F_MOVE | SPLICE_F_MORE);

			if (w <= 0)
				return cpu_fail(c, "cannot write");
			left -= w;
		}
		__atomic_store_n(&c->bytes, c->bytes + (uint64_t)(n > 0 ? n : 0), __ATOMIC_RELAXED);
	} while (n > (last ? 0 : (ssize_t)MUCH));
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return cpu_fail(c, "cannot read records");
	return 0;
}

/* The records of a CPU are in its cache; reading them on another CPU would move every cache
 * line. */
static void pin(unsigned cpu)
{
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);

	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	sched_setaffinity(0, size, set); /* a CPU that went away: then from elsewhere */
	CPU_FREE(set);
}

static void *thread(void *arg)
{
	struct cpu *c = arg;
	bool last = false;

	pin(c->cpu);
	setpriority(PRIO_PROCESS, 0, -15);
	while (!last) {
		struct pollfd p = {.fd = c->in, .events = POLLIN};

		last = __atomic_load_n(&c->r->stop, __ATOMIC_ACQUIRE);
		if (!last)
			poll(&p, 1, LOOK_MS);
		if (move(c, last) < 0)
			break;
	}
	/* a thread that sees the flag sees the whole error, which is not touched again */
	__atomic_store_n(&c->failed, c->err.code != 0, __ATOMIC_RELEASE);
	return NULL;
}

/* Count the records of the file, by their sizes alone. */
static int count_records(struct cpu *c)
{
	static const size_t room = 1 << 20;
	int fd = open(c->out.file.part ? c->out.file.part : c->out.file.path,
		      O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *buf = malloc(room);
	uint64_t at = 0;
	size_t have = 0;
	ssize_t n = -1;

	while (buf && fd >= 0 && (n = read(fd, buf + have, room - have)) > 0) {
		size_t pos = 0;

		at += (uint64_t)n;
		have += (size_t)n;
		while (have - pos >= 4) {
			uint16_t size;

			memcpy(&size, buf + pos + 2, 2);
			if (size < 24 || size > have - pos)
				break;
			c->records++;
			pos += size;
		}
		have -= pos;
		memmove(buf, buf + pos, have);
	}
	free(buf);
	if (n < 0)
		cpu_fail(c, "cannot read back");
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -c->err.code;
	if (have)
		return mz_fail(&c->err, EBADMSG,
			       "%s: byte %" PRIu64 ": no complete record; see kmemtrace_check",
			       c->out.file.path, at - have);
	return 0;
}

/* Opened before privileges are dropped, like all other files. */
static int open_cpu(struct mz_relay *r, struct cpu *c, unsigned cpu, struct mz_error *err)
{
	char name[32], path[600];

	*c = (struct cpu){.r = r, .cpu = cpu, .in = -1, .pipe = {-1, -1}, .out = {.file.fd = -1}};
	snprintf(name, sizeof(name), "cpu%u", cpu);
	c->in = open_control(name, O_RDONLY | O_NONBLOCK, err);
	if (c->in < 0)
		return -1;
	if (pipe2(c->pipe, O_CLOEXEC))
		return mz_fail(err, errno, "cannot create a pipe: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/cpu%u.out", r->dir, cpu);
	return mz_output_open_file(&c->out, path, r->o.overwrite, err) < 0 ? -1 : 0;
}

static void close_cpu(struct cpu *c)
{
	mz_output_abort(&c->out);
	for (int i = 0; i < 2; i++)
		if (c->pipe[i] >= 0)
			close(c->pipe[i]);
	if (c->in >= 0)
		close(c->in);
}

static int compare(const void *a, const void *b)
{
	return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1;
}

/* The files are made when tracing is first switched on. */
static int open_cpus(struct mz_relay *r, struct mz_error *err)
{
	DIR *d = opendir(MZ_RELAY_ROOT);
	unsigned list[MAX_CPUS], n = 0;
	struct dirent *e;

	while (d && n < MAX_CPUS && (e = readdir(d))) {
		int end = 0;

		if (sscanf(e->d_name, "cpu%u%n", &list[n], &end) == 1 && end && !e->d_name[end])
			n++;
	}
	if (d)
		closedir(d);
	if (!n)
		return mz_fail(err, ENOENT, MZ_RELAY_ROOT ": has no cpuN file");
	qsort(list, n, sizeof(*list), compare);
	r->cpus = calloc(n, sizeof(*r->cpus));
	if (!r->cpus)
		return mz_fail_memory(err);
	for (unsigned i = 0; i < n; i++) {
		r->ncpus++;
		if (open_cpu(r, &r->cpus[i], list[i], err) < 0)
			return -1;
	}
	return 0;
}

/* ---- from start to end ----------------------------------------------------- */

/* All descriptors are opened while the process still has its rights. */
static int open_controls(struct mz_relay *r, struct mz_error *err)
{
	r->enabled = open_control("enabled", O_RDWR, err);
	r->stacks = r->enabled < 0 ? -1 : open_control("record_stacks", O_RDWR, err);
	r->counts = r->stacks < 0 ? -1 : open_control("counts", O_RDONLY, err);
	for (int i = 0; i < 4 && r->counts >= 0; i++)
		if ((r->tables[i] = open_control(table_names[i], O_RDONLY, err)) < 0)
			return -1;
	return r->counts < 0 ? -1 : 0;
}

/* What an earlier trace left in the buffers is not part of this recording. */
static void drop_leftovers(struct mz_relay *r)
{
	char sink[16384];

	for (unsigned i = 0; i < r->ncpus; i++)
		while (read(r->cpus[i].in, sink, sizeof(sink)) > 0)
			;
}

/* Tracing that was on since boot (was_on) continues and belongs to the recording; otherwise the
 * recording starts empty. */
static int prepare(struct mz_relay *r, struct mz_error *err)
{
	char state = '0';
	int ret;

	if (pread(r->enabled, &state, 1, 0) != 1)
		return mz_fail(err, errno, MZ_RELAY_ROOT "/enabled: cannot read: %s",
			       strerror(errno));
	r->was_on = state == '1' || r->o.drain;
	if (r->o.stacks && set(r->stacks, "record_stacks", true, err) < 0)
		return -1;
	/* the buffers come into being; what is traced for this moment is dropped */
	if (!r->was_on && (set(r->enabled, "enabled", true, err) < 0 ||
			   set(r->enabled, "enabled", false, err) < 0))
		return -1;
	ret = open_cpus(r, err);
	if (!ret && !r->was_on)
		drop_leftovers(r);
	return ret;
}

struct mz_relay *mz_relay_open(const struct mz_relay_options *o, const char *dir,
			       struct mz_error *err)
{
	struct mz_relay *r = calloc(1, sizeof(*r));

	if (!r) {
		mz_fail_memory(err);
		return NULL;
	}
	r->o = *o;
	r->enabled = r->stacks = r->counts = -1;
	memset(r->tables, 0xff, sizeof(r->tables));
	if (snprintf(r->dir, sizeof(r->dir), "%s", dir) >= (int)sizeof(r->dir))
		mz_fail(err, ENAMETOOLONG, "%s: the name is too long", dir);
	else if (open_controls(r, err) >= 0 && prepare(r, err) >= 0)
		return r;
	mz_relay_close(r);
	return NULL;
}

int mz_relay_start(struct mz_relay *r, struct mz_error *err)
{
	struct mz_relay_counts now;
	int ret = read_counts(r, &now, &r->read_before, err);

	if (!ret && !r->was_on) {
		r->base = now;
		r->read_before = false;
	}
	if (!ret)
		ret = set(r->enabled, "enabled", !r->o.drain, err);
	for (unsigned i = 0; i < r->ncpus && !ret; i++) {
		struct cpu *c = &r->cpus[i];

		if (pthread_create(&c->thread, NULL, thread, c))
			ret = mz_fail(err, EAGAIN, "cannot start a thread per CPU");
		else
			c->started = true;
	}
	return ret;
}

int mz_relay_failed(struct mz_relay *r, struct mz_error *err)
{
	for (unsigned i = 0; i < r->ncpus; i++)
		if (__atomic_load_n(&r->cpus[i].failed, __ATOMIC_ACQUIRE))
			return mz_fail(err, r->cpus[i].err.code, "%s", r->cpus[i].err.text);
	return 0;
}

/* After tracing was switched off, the threads read what is left, and end. */
static void join(struct mz_relay *r)
{
	__atomic_store_n(&r->stop, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < r->ncpus; i++)
		if (r->cpus[i].started)
			pthread_join(r->cpus[i].thread, NULL);
	for (unsigned i = 0; i < r->ncpus; i++)
		r->cpus[i].started = false;
}

/* Every number was written or lost: the kernel assigned the numbers, and we count the records. */
static int check_account(struct mz_relay *r, const struct mz_relay_counts *n, struct mz_error *err)
{
	uint64_t written = mz_relay_written(r);

	if (r->read_before)
		return 0; /* others have read some of the records: nothing to compare with */
	if (n->sequence != (uint32_t)(written + n->lost))
		return mz_fail(err, EBADMSG,
			       "the account does not balance: %u sequence numbers, %" PRIu64
			       " records written, %" PRIu64
			       " lost; another reader of " MZ_RELAY_ROOT "/cpuN takes records away",
			       n->sequence, written, n->lost);
	r->verified = true;
	return 0;
}

/* Tables are read at the end, when every cache and stack that records refer to is in them. */
static int save_beside(struct mz_relay *r, const struct mz_relay_counts *n, struct mz_error *err)
{
	char text[32];
	int ret = 0;

	for (int i = 0; i < 4 && ret >= 0; i++) {
		struct mz_buf b = {0};

		ret = read_all(r->tables[i], &b);
		if (ret)
			ret = mz_fail(err, -ret, MZ_RELAY_ROOT "/%s: cannot read: %s",
				      table_names[i], strerror(-ret));
		else
			ret = kmem_save_file(r->dir, table_names[i], b.data, b.len, err);
		mz_buf_free(&b);
	}
	if (ret >= 0)
		ret = kmem_save_nodes(r->dir, r->cpus[r->ncpus - 1].cpu + 1, err);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", n->lost);
	return ret < 0 ? ret : kmem_save_file(r->dir, "total_overruns", text, strlen(text), err);
}

/* In this order: stop new events, read the rest of the old ones, then read the counters, which
 * must be final. */
int mz_relay_stop(struct mz_relay *r, struct mz_error *err)
{
	struct mz_relay_counts n = {0};
	int ret = set(r->enabled, "enabled", false, err);

	join(r);
	if (r->o.stacks)
		set(r->stacks, "record_stacks", false, NULL);
	if (!ret)
		ret = mz_relay_failed(r, err);
	for (unsigned i = 0; i < r->ncpus && !ret; i++)
		if (count_records(&r->cpus[i]) < 0)
			ret = mz_fail(err, EBADMSG, "%s", r->cpus[i].err.text);
	if (!ret)
		ret = mz_relay_counts(r, &n, err);
	if (ret >= 0)
		ret = save_beside(r, &n, err);
	for (unsigned i = 0; i < r->ncpus && ret >= 0; i++)
		ret = mz_output_commit(&r->cpus[i].out, err);
	return ret < 0 ? ret : check_account(r, &n, err);
}

void mz_relay_close(struct mz_relay *r)
{
	if (!r)
		return;
	join(r);
	for (unsigned i = 0; i < r->ncpus; i++)
		close_cpu(&r->cpus[i]);
	for (int i = 0; i < 4; i++)
		if (r->tables[i] >= 0)
			close(r->tables[i]);
	if (r->counts >= 0)
		close(r->counts);
	if (r->stacks >= 0)
		close(r->stacks);
	if (r->enabled >= 0)
		close(r->enabled);
	free(r->cpus);
	free(r);
}

/* ---- state and counts ------------------------------------------------------ */

uint64_t mz_relay_written(const struct mz_relay *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->ncpus; i++)
		n += r->cpus[i].records;
	return n;
}

uint64_t mz_relay_bytes(const struct mz_relay *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->ncpus; i++)
		n += __atomic_load_n(&r->cpus[i].bytes, __ATOMIC_RELAXED);
	return n;
}

unsigned mz_relay_cpus(const struct mz_relay *r)
{
	return r->ncpus;
}

bool mz_relay_since_boot(const struct mz_relay *r)
{
	return r->was_on;
}

bool mz_relay_verified(const struct mz_relay *r)
{
	return r->verified;
}
