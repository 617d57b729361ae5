// SPDX-License-Identifier: BSD-2-Clause
/* Run one command as the documents say (mark, run, unmark, read kmap), and send the host what it
 * prints and what was recorded. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/guest.h"

#define KMEMTRACE "/sys/kernel/debug/kmemtrace/"

/* ---- Memorizer ------------------------------------------------------------ */

static int write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Errors are returned, as not every kernel has every file. */
static int control(const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), GUEST_MEMORIZER "%s", file);
	return write_file(path, value);
}

static void control_or_fail(const char *file, const char *value)
{
	int ret = control(file, value);

	if (ret)
		guest_fail("writing %s to " GUEST_MEMORIZER "%s: %s", value, file, strerror(-ret));
}

/* Does the kernel have what the job needs? A command without a recording runs on any kernel,
 * with a note that says what the kernel supports. */
static void tracing_check(struct guest_job *j)
{
	bool other = !access(KMEMTRACE, F_OK);

	if (!j->mode || !access(GUEST_MEMORIZER, F_OK))
		return;
	if (j->must)
		guest_fail("the guest's kernel has no Memorizer (" GUEST_MEMORIZER ")%s",
			   other ? "; it has kmemtrace: --kmemtrace-boot records with that" : "");
	guest_send_text(VM_NOTE, "nothing is recorded: the guest's kernel has no Memorizer%s",
			other ? "; it has kmemtrace: --kmemtrace-boot records with that" : "");
	j->mode = NULL;
}

static void calls_prepare(const struct guest_job *j)
{
	if (access(GUEST_MEMORIZER "function_calls", F_OK))
		guest_fail("the guest's kernel cannot count calls: it needs CONFIG_MEMORIZER_CALLS "
			   "(kernel/build calls)");
	if (!j->boot)
		control_or_fail("clear_function_calls", "1");
	control_or_fail("log_calls_enabled", "1");
}

static void frames_prepare(void)
{
	if (access(GUEST_MEMORIZER "log_frames_enabled", F_OK))
		guest_fail("the guest's kernel cannot count accesses at stack frames: it needs "
			   "CONFIG_MEMORIZER_FRAMES");
	control_or_fail("log_frames_enabled", "1");
}

/* A recording from boot keeps what was recorded so far. Otherwise it is dropped, so that the map
 * begins with the command. */
static void tracing_prepare(const struct guest_job *j)
{
	if (!j->boot) {
		control_or_fail("memorizer_enabled", "0");
		control_or_fail("clear_dead_objects", "1");
	}
	control_or_fail("print_live_obj", "1");
	if (j->fields)
		control_or_fail("print_fields", "1");
	if (j->owners && access(GUEST_MEMORIZER "owners", F_OK))
		guest_fail("the guest's kernel cannot note owners: it needs CONFIG_CGROUPS, and a "
			   "Memorizer that has the file owners");
	if (j->owners)
		control_or_fail("log_owners_enabled", "1");
	if (j->frames)
		frames_prepare();
	if (j->accesses)
		control_or_fail("memorizer_log_access", "1");
	if (j->calls)
		calls_prepare(j);
}

/* Send a file from its current position. Returns bytes sent, or -errno. */
static long long send_rest(int fd, enum vm_frame_type type)
{
	static char buf[VM_FRAME_MAX];
	long long sent = 0;

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? sent : -errno;
		if (!n)
			return sent;
		guest_send(type, buf, (size_t)n);
		sent += n;
	}
}

/* The sizes of files in debugfs cannot be trusted: they are read to their end. */
static void send_file(const char *file, enum vm_frame_type type)
{
	char path[256];
	long long n;
	int fd;

	snprintf(path, sizeof(path), GUEST_MEMORIZER "%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : send_rest(fd, type);
	if (n < 0)
		guest_fail("reading %s: %s", path, strerror((int)-n));
	close(fd);
}

/* ---- kmemtrace ------------------------------------------------------------ */

#define RECORDING "/tmp/kmemtrace"

/* The trace ends here: what follows is our own work. */
static void kmemtrace_stop(void)
{
	int fd = open(KMEMTRACE "enabled", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		guest_fail("the guest's kernel has no kmemtrace (" KMEMTRACE "enabled): %s",
			   strerror(errno));
	close(fd);
}

/* The name goes first, then the contents, in frames of the type that the host stores. */
static void kmemtrace_send(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), RECORDING "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	guest_send(VM_FILE, name, strlen(name));
	if (fd < 0 || send_rest(fd, VM_KMAP) < 0)
		guest_fail("reading %s: %s", path, strerror(errno));
	close(fd);
}

/* Record into a folder, and send every file of it to the host. */
static void kmemtrace_take(const struct guest_job *j)
{
	struct dirent *e;
	int status;
	DIR *d;
	pid_t pid = fork();

	if (!pid) {
		environ = (char **)j->env;
		execl(j->kmemtrace, "memorizer", "kmemtraced", "--drain", "-q", "-f", "-o",
		      RECORDING, NULL);
		dprintf(2, "memorizer vm: %s: %s\n", j->kmemtrace, strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		guest_fail("kmemtraced failed in the guest; see the console");
	d = opendir(RECORDING);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			kmemtrace_send(e->d_name);
	if (d)
		closedir(d);
}

/* ---- the command ---------------------------------------------------------- */

/* The command while it runs, and its pipes. */
struct run {
	pid_t pid;
	int in, out, err, stream; /* our ends; -1 = closed */
	struct vm_frame frame;	  /* of standard input, from the host */
	uint32_t frame_at;	  /* bytes of it that were passed on */
	size_t header_at;
};

/* The first process ignores SIGPIPE and blocks SIGCHLD; the command must inherit neither.
 * Exit statuses are those of a shell. */
static void child_exec(struct guest_job *j, int in, int out, int err)
{
	sigset_t none;
	int ret;

	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (chdir(j->cwd ? j->cwd : "/"))
		dprintf(2, "memorizer vm: %s: %s; running in /\n", j->cwd, strerror(errno));
	/* The process that writes is the one that is marked; the mark survives exec. */
	if (j->mode && (ret = control("memorizer_enabled", j->mode))) {
		dprintf(2, "memorizer vm: mode %s: %s\n", j->mode, strerror(-ret));
		_exit(125);
	}
	environ = j->env;
	execvp(j->args[0], j->args);
	dprintf(2, "memorizer vm: %s: %s\n", j->args[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Fork the command. A stack is known if it was allocated while objects are recorded: to see the
 * frames of the command's first process, we are marked when we fork, and no longer than that.
 */
static pid_t fork_command(const struct guest_job *j)
{
	bool early = j->mode && j->frames;
	pid_t pid;
	int ret;

	if (early)
		control_or_fail("memorizer_enabled", j->mode);
	pid = fork();
	if (early && pid > 0 && (ret = write_file("/proc/self/memorizer_enabled", "0")))
		guest_fail("writing 0 to /proc/self/memorizer_enabled: %s", strerror(-ret));
	return pid;
}

/* Our ends of the pipes never block: one loop serves all of them. */
static void start(struct guest_job *j, struct run *r)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		guest_fail("pipe: %s", strerror(errno));
	r->pid = fork_command(j);
	if (r->pid < 0)
		guest_fail("fork: %s", strerror(errno));
	if (!r->pid)
		child_exec(j, in[0], out[1], err[1]);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	r->in = in[1];
	r->out = out[0];
	r->err = err[0];
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	fcntl(r->err, F_SETFL, O_NONBLOCK);
	fcntl(r->in, F_SETFL, O_NONBLOCK);
	if (!j->stdin_open) {
		close(r->in);
		r->in = -1;
	}
}

/* poll() passes over a descriptor of -1. */
static void close_fd(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* Read the command's output once; false: it is closed. */
static bool relay(int fd, enum vm_frame_type type)
{
	static char buf[VM_FRAME_MAX];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0)
		guest_send(type, buf, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Standard input: first the header, then as much as the pipe takes. */
static void relay_in(struct run *r)
{
	char buf[4096]; /* a pipe that polls writable takes this much */
	size_t want = r->frame.len - r->frame_at;
	ssize_t n;

	if (r->header_at < sizeof(r->frame)) {
		n = read(guest_port, (char *)&r->frame + r->header_at,
			 sizeof(r->frame) - r->header_at);
		r->header_at += n > 0 ? (size_t)n : 0;
		if (r->header_at == sizeof(r->frame) && !r->frame.len)
			close_fd(&r->in);
		return;
	}
	n = read(guest_port, buf, want < sizeof(buf) ? want : sizeof(buf));
	if (n <= 0)
		return;
	r->frame_at += (uint32_t)n;
	if (write(r->in, buf, (size_t)n) != n)
		close_fd(&r->in);
	if (r->frame_at == r->frame.len)
		r->frame_at = r->header_at = 0;
}

/* Everything was sent. The machine may end once the host has it; input that the command did not
 * read arrives before that word. */
static void say_done(struct run *r)
{
	char rest[4096];

	guest_send(VM_DONE, NULL, 0);
	for (;;) {
		size_t want = sizeof(r->frame) - r->header_at;
		ssize_t n;

		if (want) {
			n = read(guest_port, (char *)&r->frame + r->header_at, want);
			r->header_at += n > 0 ? (size_t)n : 0;
		} else if (r->frame.type == VM_BYE) {
			return;
		} else if (r->frame_at < r->frame.len) {
			want = r->frame.len - r->frame_at;
			n = read(guest_port, rest, want < sizeof(rest) ? want : sizeof(rest));
			r->frame_at += n > 0 ? (uint32_t)n : 0;
		} else {
			n = 1;
			r->frame_at = 0;
			r->header_at = 0;
		}
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return; /* the host is gone */
	}
}

/* Reap all children that ended; true if the command is among them. */
static bool reap(pid_t wanted, int *status)
{
	bool found = false;
	pid_t pid;
	int st;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
		if (pid == wanted) {
			*status = st;
			found = true;
		}
	}
	return found;
}

/* Ask the host for input only while the command has room for it. */
static bool wants_input(struct run *r)
{
	struct pollfd p = {r->in, POLLOUT, 0};

	if (r->in < 0 || poll(&p, 1, 0) <= 0)
		return false;
	if (p.revents & POLLERR)
		close_fd(&r->in);
	return r->in >= 0;
}

/* Serve output, input and the stream until the command ends. Returns its wait status. */
static int attend(struct run *r, int children)
{
	int status = 0;

	for (;;) {
		bool input = wants_input(r);
		struct pollfd p[] = {
			{children, POLLIN, 0},
			{r->out, POLLIN, 0},
			{r->err, POLLIN, 0},
			{r->stream, POLLIN, 0},
			{input ? guest_port : -1, POLLIN, 0},
		};
		struct signalfd_siginfo si;

		/* a full pipe gives no notice when it has room again: poll */
		poll(p, 5, r->in >= 0 && !input ? 10 : -1);
		if (p[1].revents && !relay(r->out, VM_STDOUT))
			close_fd(&r->out);
		if (p[2].revents && !relay(r->err, VM_STDERR))
			close_fd(&r->err);
		if (p[3].revents)
			relay(r->stream, VM_KMAP);
		if (p[4].revents)
			relay_in(r);
		if (p[0].revents && read(children, &si, sizeof(si)) > 0 && reap(r->pid, &status))
			return status;
	}
}

/* Stop recording first, so that the map does not show our own work. Then send what is left in
 * the pipes, the status, and the recordings. */
static void finish(const struct guest_job *j, struct run *r, int status)
{
	uint32_t st = (uint32_t)status;

	if (j->kmemtrace)
		kmemtrace_stop();
	if (j->mode) {
		control_or_fail("memorizer_log_access", "0");
		control_or_fail("memorizer_enabled", "0");
	}
	if (r->out >= 0)
		send_rest(r->out, VM_STDOUT);
	if (r->err >= 0)
		send_rest(r->err, VM_STDERR);
	guest_send(VM_EXIT, &st, sizeof(st));
	if (j->kmemtrace)
		kmemtrace_take(j);
	if (!j->mode)
		return;
	if (j->kmap)
		guest_send_modules();
	/* statistics first: reading the stream takes records away */
	send_file("show_stats", VM_STATS);
	if (r->stream >= 0 && send_rest(r->stream, VM_KMAP) < 0)
		guest_fail("reading kmap_stream: %s", strerror(errno));
	/* before the objects, as in upstream's maps, but not in the middle of a streamed one */
	if (j->calls && j->kmap)
		send_file("function_calls", VM_KMAP);
	if (j->owners && j->kmap)
		send_file("owners", VM_KMAP);
	if (j->kmap)
		send_file("kmap", VM_KMAP);
}

/* As a descriptor, so that one poll() waits for output and for the end of the command. */
static int watch_children(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		guest_fail("signalfd: %s", strerror(errno));
	return fd;
}

void guest_run_command(struct guest_job *j)
{
	struct run r = {.in = -1, .out = -1, .err = -1, .stream = -1};
	int children = watch_children();

	tracing_check(j);
	if (j->mode)
		tracing_prepare(j);
	if (j->mode && j->stream) {
		r.stream = open(GUEST_MEMORIZER "kmap_stream", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (r.stream < 0)
			guest_fail("kmap_stream: %s", strerror(errno));
	}
	guest_send(VM_READY, NULL, 0);
	start(j, &r);
	finish(j, &r, attend(&r, children));
	say_done(&r);
}

/* A prompt on the console, to which the host connects its terminal. */
void guest_run_shell(struct guest_job *j)
{
	char *sh[] = {"/bin/sh", "-i", NULL};
	struct run r = {.in = -1, .out = -1, .err = -1, .stream = -1};
	pid_t pid;
	int st = 0;
	uint32_t status;

	guest_send(VM_READY, NULL, 0);
	pid = fork();
	if (!pid) {
		int fd;

		setsid();
		fd = open("/dev/ttyS0", O_RDWR);
		ioctl(fd, TIOCSCTTY, 1);
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		if (chdir(j->cwd ? j->cwd : "/"))
			dprintf(2, "memorizer vm: %s: %s\n", j->cwd, strerror(errno));
		environ = j->env;
		if (j->nargs)
			execvp(j->args[0], j->args);
		else
			execv(sh[0], sh);
		_exit(127);
	}
	while (waitpid(-1, &st, 0) != pid)
		; /* orphans are ours to reap */
	status = (uint32_t)st;
	guest_send(VM_EXIT, &status, sizeof(status));
	say_done(&r);
}
