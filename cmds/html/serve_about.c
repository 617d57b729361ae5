// SPDX-License-Identifier: BSD-2-Clause
/* Determine what the entries of a folder are, each in a process of its own. */
#include "cmds/html/serve_about.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/usage.h"
#include "cmds/html/html.h"
#include "trace/reader.h"

#define LOOK_BYTES   (2ull << 30)
#define LOOK_SECONDS 20 /* of the CPU */
#define LOOK_WAITING 120
/* The peak of a longer recording is not computed: the list would take seconds. */
#define MOST_EVENTS  4000000ull
#define BATCH	     1024

/* The result of such a process, which writes it in one piece. */
struct described {
	uint32_t kind; /* enum of recordings, or UNREADABLE */
	struct serve_about about;
};
#define UNREADABLE 100u

/* Sanitizers take all addresses at once. */
void serve_limit(uint64_t bytes, unsigned seconds)
{
	struct rlimit as = {bytes, bytes}, cpu = {seconds, seconds}, none = {0, 0};

	if (options_open_flags() & MZ_OPEN_LARGE)
		return;
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &as);
#endif
	(void)as;
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &none);
}

static void find_attributes(struct mz_reader *in, struct serve_about *a)
{
	const struct mz_attr *command = mz_reader_find_attr(in, "command");
	const struct mz_attr *pid = mz_reader_find_attr(in, "pid");
	struct mz_summary s = {.size = sizeof(s)};

	if (command && command->type == MZ_ATTR_TEXT)
		snprintf(a->command, sizeof(a->command), "%s", command->data);
	a->has_pid = pid && pid->type == MZ_ATTR_NUMBER;
	a->pid = a->has_pid ? pid->number : 0;
	a->has_events = !mz_reader_summary(in, &s);
	a->events = s.events;
}

/* The most that was live, from all events. */
static void find_peak(struct mz_reader *in, struct serve_about *a)
{
	static struct mz_event ev[BATCH];
	struct mz_usage u;
	long n = 0;

	if (mz_usage_init(&u))
		return;
	while ((n = mz_reader_read(in, ev, BATCH)) > 0) {
		mz_reader_forget_unknown(in, ev, n);
		for (long i = 0; i < n; i++)
			if (mz_usage_add(&u, &ev[i]))
				n = -1;
	}
	a->has_peak = !n;
	a->peak = u.all.sum.peak_bytes;
	mz_usage_deinit(&u);
}

/* Any text may look like a trace at first; a container is one, even if it is empty. */
static bool has_event(struct mz_recording *r, struct mz_reader *in)
{
	struct mz_event ev;

	return r->format == MZ_FORMAT_CONTAINER || mz_reader_read(in, &ev, 1) > 0;
}

static bool is_program(struct mz_recording *r, struct serve_about *a)
{
	struct mz_reader *in = mz_recording_reader(r, NULL);

	if (!in || !has_event(r, in))
		return false;
	find_attributes(in, a);
	if (a->has_events && a->events <= MOST_EVENTS)
		find_peak(in, a);
	return true;
}

static void look(const char *path, struct described *f)
{
	struct mz_recording_options o = {.flags = options_open_flags()};
	char *paths[] = {(char *)path};
	struct mz_error err = {0};
	struct mz_recording r;
	struct stat st;

	f->kind = MZ_RECORDING_ANY;
	if (!stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size)
		return;
	if (!mz_recording_open(&r, paths, 1, &o, &err) && r.kind != MZ_RECORDING_SUMS &&
	    (r.kind != MZ_RECORDING_USER || is_program(&r, &f->about)))
		f->kind = (uint32_t)r.kind;
	if (f->kind)
		f->about.files_cut = mz_recording_early_end(&r).files;
	mz_recording_close(&r);
	/* a file that exceeds the bounds is a recording: it must not be left out silently */
	if (err.code == EFBIG)
		f->kind = UNREADABLE;
}

static bool look_apart(const char *path, int to, struct described *f)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		serve_limit(LOOK_BYTES, LOOK_SECONDS);
		/* a process that waits takes no CPU time, but would hold up the list */
		signal(SIGALRM, SIG_DFL);
		alarm(LOOK_WAITING);
		look(path, f);
		_exit(write(to, f, sizeof(*f)) != sizeof(*f));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

void serve_look(const char *path, struct serve_about *a)
{
	struct described f = {0};
	int ends[2];
	bool ok = !pipe(ends);

	*a = (struct serve_about){.kind = "cannot be read"};
	if (!ok)
		return;
	ok = look_apart(path, ends[1], &f) && read(ends[0], &f, sizeof(f)) == sizeof(f);
	close(ends[0]);
	close(ends[1]);
	if (!ok || f.kind == UNREADABLE)
		return;
	f.about.command[sizeof(f.about.command) - 1] = '\0';
	*a = f.about;
	a->kind = f.kind ? mz_recording_kind_name((int)f.kind) : NULL;
}
