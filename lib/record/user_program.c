// SPDX-License-Identifier: BSD-2-Clause
/* Keep one output file for each recorded program. */
#include "record/user_program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/base_name.h"
#include "base/error.h"
#include "record/user_perfmap.h"
#include "record/user_pools.h"
#include "record/user_spool.h"
#include "trace/writer.h"

/* trace.cmt, then trace.2.cmt, trace.3.cmt: one for each program. */
static char *file_name(const struct mz_user_files *f, unsigned number)
{
	size_t len = strlen(f->output);
	const char *dot = strrchr(f->output, '.');
	const char *slash = strrchr(f->output, '/');
	size_t stem =
		dot && dot > (slash ? slash + 1 : f->output) ? (size_t)(dot - f->output) : len;
	char *name = malloc(len + 16);

	if (!name)
		return NULL;
	if (number == 1)
		memcpy(name, f->output, len + 1);
	else
		snprintf(name, len + 16, "%.*s.%u%s", (int)stem, f->output, number,
			 f->output + stem);
	return name;
}

/* The arguments of a process, separated by NULs. Returns their length, or 0. */
static size_t read_arguments(uint32_t pid, char *line, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	in = pid ? fopen(path, "re") : NULL;
	if (in) {
		n = fread(line, 1, size - 1, in);
		fclose(in);
	}
	while (n && !line[n - 1])
		n--;
	line[n] = '\0';
	return n;
}

/* Whether the process still runs the announced program: a child may have been forked, announced
 * and replaced by another program before its arguments were read. A program that was started
 * through a symbolic link is announced by the name of the link, which is also in its arguments. */
static bool still_runs(const struct mz_user_program *m, const char *arguments)
{
	char link[32], path[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/exe", m->process.pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	name = mz_base_name(m->program);
	return !strcmp(mz_base_name(path), name) || !strcmp(mz_base_name(arguments), name);
}

/* The arguments of the process as one line; those of the program that the recorder started are
 * known. */
static void set_command(const struct mz_user_files *f, struct mz_user_program *m)
{
	char line[4096];
	size_t n = read_arguments(m->process.pid, line, sizeof(line));

	if (!n || !still_runs(m, line)) {
		mz_writer_set_text(m->writer, "command",
				   f->made == 1 && f->command ? f->command : m->program);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!line[i])
			line[i] = ' ';
	mz_writer_set_text(m->writer, "command", line);
}

/* The attributes describe the recording to a reader on another machine. Errors are collected
 * in the writer and checked once. */
static int set_header(const struct mz_user_files *f, struct mz_user_program *m)
{
	struct utsname u;

	set_command(f, m);
	uname(&u);
	mz_writer_set_text(m->writer, "source", "memorizer record");
	mz_writer_set_text(m->writer, "program", m->program);
	mz_writer_set_text(m->writer, "host", u.nodename);
	mz_writer_set_text(m->writer, "kernel", u.release);
	mz_writer_set_text(m->writer, "clock", "ns since the start of the recording");
	if (f->resolution)
		mz_writer_set_number(m->writer, "resolution", f->resolution);
	mz_writer_set_number(m->writer, "start", f->start_unix);
	mz_writer_set_number(m->writer, "pid", m->pid);
	if (f->attached)
		mz_writer_set_number(m->writer, "attached", 1);
	if (mz_writer_error(m->writer)->code)
		return mz_fail(f->err, mz_writer_error(m->writer)->code, "%s",
			       mz_writer_error(m->writer)->text);
	return 0;
}

/* A chunk is readable once it is complete. A disk may be full before the first chunk of the
 * usual size, so chunks are small there. */
static uint32_t chunk_events(const struct mz_user_files *f)
{
	const char *slash = strrchr(f->output, '/');
	char folder[PATH_MAX] = ".";
	struct statvfs v;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s",
			 slash == f->output ? 1 : (int)(slash - f->output), f->output);
	return !statvfs(folder, &v) && (uint64_t)v.f_bavail * v.f_frsize < SPOOL_LEAST_ROOM ? 8192
											    : 0;
}

/* The user that a process runs as: in its namespace it may claim to be another one. */
static uid_t owner_of(uint32_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? geteuid() : st.st_uid;
}

/* Other users, and the recorded program itself, can create files beside the output: that costs a
 * number, not the recording. The name of the first file was given by the user. */
static int open_file(struct mz_user_files *f, struct mz_user_program *m)
{
	struct mz_writer_options o = {
		.overwrite = f->force, .raw = true, .chunk_events = chunk_events(f)};
	bool taken;

	do {
		free(m->path);
		m->number = ++f->made;
		m->path = file_name(f, m->number);
		if (!m->path)
			return mz_fail_memory(f->err);
		m->writer = m->number == 1 ? mz_writer_open(m->path, &o, f->err)
					   : mz_writer_open_file(m->path, &o, f->err);
		taken = !m->writer && m->number > 1 &&
			(errno == EEXIST || errno == EBUSY || errno == EPERM || errno == EISDIR ||
			 errno == ELOOP);
	} while (taken && f->made < MOST_FILES);
	return m->writer ? 0 : -errno;
}

/* The name in the shared memory is written by the program, so it is terminated here before it
 * is used. */
int mz_user_program_open(struct mz_user_files *f, struct mz_user_program *m,
			 const struct mz_program_slot *from, const struct mz_process *process)
{
	int ret;

	memset(m, 0, sizeof(*m));
	m->pid = from->pid;
	m->start = from->start;
	m->pidfd = -1;
	m->process = *process;
	m->uid = owner_of(m->process.pid);
	snprintf(m->program, sizeof(m->program), "%.*s", (int)sizeof(from->path), from->path);
	ret = open_file(f, m);
	if (ret < 0)
		return ret;
	m->is_open = true;
	f->open++;
	mz_writer_hurry(m->writer, false);
	if (f->attached) {
		mz_user_program_look(m);
		m->before = m->anonymous;
	}
	return set_header(f, m);
}

/* Of all programs together. One alone stays below it: see mz_writer_beside(). */
#define ALL_UNWRITTEN (24u << 20)

/* 32 MiB of pages, and what leads to them. */
#define LOOK_NS		200000000ull /* how often the memory of a program is measured */
#define MOST_SITE_PAGES 8192u

uint32_t *mz_user_program_site(struct mz_user_files *f, struct mz_user_program *m, uint64_t number)
{
	uint64_t page = number / SITE_PAGE;

	if (!number || page >= SITE_PAGES)
		return NULL;
	if (!m->sites)
		m->sites = calloc(SITE_PAGES, sizeof(*m->sites));
	if (!m->sites)
		return NULL;
	if (!m->sites[page]) {
		if (f->site_pages >= MOST_SITE_PAGES)
			return NULL;
		m->sites[page] = calloc(SITE_PAGE, sizeof(**m->sites));
		if (!m->sites[page])
			return NULL;
		m->site_pages++;
		f->site_pages++;
	}
	return &m->sites[page][number % SITE_PAGE];
}

static void free_sites(struct mz_user_files *f, struct mz_user_program *m)
{
	for (uint32_t i = 0, left = m->site_pages; m->sites && left; i++)
		if (m->sites[i]) {
			free(m->sites[i]);
			left--;
		}
	free(m->sites);
	f->site_pages -= m->site_pages;
	f->stack_bytes -= m->stack_bytes;
	f->text_bytes -= m->text_bytes;
}

static void count_unwritten(struct mz_user_files *f, struct mz_user_program *m, uint64_t bytes)
{
	f->unwritten += bytes - m->unwritten;
	m->unwritten = bytes;
}

/* One program alone may have a long chunk. Of many, those that have more than their share write
 * it; the others have less than that, or had it while there were fewer. */
static int keep_to_share(struct mz_user_files *f, struct mz_user_program *m)
{
	int ret = 0;

	count_unwritten(f, m, mz_writer_memory(m->writer));
	if (f->unwritten > ALL_UNWRITTEN && m->unwritten > ALL_UNWRITTEN / f->open) {
		ret = mz_writer_shrink(m->writer);
		count_unwritten(f, m, mz_writer_memory(m->writer));
	}
	return ret;
}

int mz_user_program_flush(struct mz_user_files *f, struct mz_user_program *m)
{
	int ret;

	mz_writer_beside(m->writer, f->beside);
	mz_writer_hurry(m->writer, f->behind);
	ret = mz_writer_put(m->writer, m->batch, m->count);
	m->count = 0;
	if (!ret)
		ret = keep_to_share(f, m);
	if (ret < 0)
		*f->err = *mz_writer_error(m->writer);
	return ret;
}

int mz_user_program_add(struct mz_user_files *f, struct mz_user_program *m,
			const struct mz_event *ev)
{
	*mz_user_program_next(m) = *ev;
	return mz_user_program_made(f, m);
}

/* Programs end in any order; the summary lists them in the order of their files. */
static void sort_last(struct mz_user_files *f)
{
	for (size_t i = f->done_count; i-- > 1 && f->done[i].number < f->done[i - 1].number;) {
		struct mz_user_done d = f->done[i];

		f->done[i] = f->done[i - 1];
		f->done[i - 1] = d;
	}
}

/* The result of a program is kept after its file is closed, because the summary is printed
 * when all have ended. */
/* Less than this may be stacks of threads and mappings of libraries. */
#define UNSEEN_LEAST (16ull << 20)

/* The sum of all sizes is the most that recorded calls can explain, besides what the program had
 * before. */
static uint64_t unseen(const struct mz_user_program *m)
{
	uint64_t asked = m->asked + m->thinning.unrecorded.bytes + m->before;
	uint64_t more = m->anonymous > asked ? m->anonymous - asked : 0;

	return more >= UNSEEN_LEAST ? more : 0;
}

void mz_user_program_look(struct mz_user_program *m)
{
	char path[64], line[256];
	unsigned long long kib;
	struct timespec t;
	uint64_t now;
	FILE *in;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (now - m->looked < LOOK_NS)
		return;
	m->looked = now;
	snprintf(path, sizeof(path), "/proc/%u/status", m->process.pid);
	in = m->process.pid ? fopen(path, "re") : NULL;
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			mz_user_program_has(m, kib * 1024);
	if (in)
		fclose(in);
}

static int remember(struct mz_user_files *f, const struct mz_user_program *m)
{
	struct mz_user_done *d;
	struct stat st;

	if (f->done_count == f->done_cap) {
		size_t cap = f->done_cap ? 2 * f->done_cap : 16;

		d = realloc(f->done, cap * sizeof(*d));
		if (!d)
			return mz_fail_memory(f->err);
		f->done = d;
		f->done_cap = cap;
	}
	d = &f->done[f->done_count];
	*d = (struct mz_user_done){.number = m->number,
				   .path = strdup(m->path),
				   .pid = m->pid,
				   .events = m->events,
				   .stacks = m->stacks,
				   .left = m->left,
				   .waits = m->waits,
				   .thinning = m->thinning,
				   .blind = m->blind,
				   .unseen = unseen(m)};
	memcpy(d->program, m->program, sizeof(d->program));
	memcpy(d->lost, m->lost, sizeof(d->lost));
	if (!d->path)
		return mz_fail_memory(f->err);
	d->bytes = stat(m->path, &st) ? 0 : (uint64_t)st.st_size;
	f->done_count++;
	sort_last(f);
	return 0;
}

/* What readers need to know about blocks that are not in the file. */
static void set_thinning(struct mz_user_program *m)
{
	struct mz_user_thinning *t = &m->thinning;

	if (!m->lost[MZ_LOSS_SAMPLED])
		return;
	if (!t->weight) /* no block stands for those that were left out, yet they are missing */
		t->weight = 1;
	mz_writer_set_number(m->writer, "sampled.weight", t->weight);
	mz_writer_set_number(m->writer, "sampled.allocs", t->unrecorded.allocs);
	mz_writer_set_number(m->writer, "sampled.bytes", t->unrecorded.bytes);
	mz_writer_set_number(m->writer, "sampled.frees", t->unrecorded.frees);
	mz_writer_set_number(m->writer, "sampled.first", t->first);
	mz_writer_set_number(m->writer, "sampled.last", t->last);
}

/* produced is counted here, beside the writer's own count of events: verify compares the two. */
int mz_user_program_close(struct mz_user_files *f, struct mz_user_program *m)
{
	uint64_t produced = m->events;
	int ret = mz_user_program_flush(f, m);

	for (unsigned i = 0; i < MZ_LOSSES; i++)
		produced += m->lost[i];
	if (!ret) {
		mz_writer_produced(m->writer, produced);
		mz_user_stacks_put(&m->stacks, m->writer);
		set_thinning(m);
		if (mz_user_perfmap(m->writer, m->pid, m->uid) < 0)
			ret = mz_fail_memory(f->err);
		if (m->blind & MZ_BLIND_OWN_MALLOC)
			mz_writer_set_number(m->writer, "own_malloc", 1);
		if (m->blind & MZ_BLIND_NAMESPACE)
			mz_writer_set_number(m->writer, "namespaces", 1);
		if (m->blind & MZ_BLIND_STACKS)
			mz_writer_set_number(m->writer, "no_stacks", 1);
		if (unseen(m))
			mz_writer_set_number(m->writer, "unseen_bytes", unseen(m));
		if (!ret)
			ret = mz_writer_close(m->writer, f->err);
		else
			mz_writer_close(m->writer, &(struct mz_error){0});
		m->writer = NULL;
	}
	if (!ret)
		ret = remember(f, m);
	mz_user_program_drop(f, m);
	return ret;
}

void mz_user_program_drop(struct mz_user_files *f, struct mz_user_program *m)
{
	struct mz_error ignored = {0};

	count_unwritten(f, m, 0);
	f->open -= m->is_open;
	if (m->writer)
		mz_writer_close(m->writer, &ignored);
	if (m->pidfd >= 0)
		close(m->pidfd);
	free_sites(f, m);
	mz_user_pools_free(m->pools);
	free(m->path);
	free(m);
}

void mz_user_files_free(struct mz_user_files *f)
{
	for (size_t i = 0; i < f->done_count; i++)
		free(f->done[i].path);
	free(f->done);
}
