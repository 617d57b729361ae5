// SPDX-License-Identifier: BSD-2-Clause
/* Serve a running guest: frames, console, standard input, signals, timeout. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/vm/vm.h"
#include "guest/protocol.h"

#define BOOT_SECONDS_KVM 30
#define BOOT_SECONDS_TCG 1200 /* of a busy machine, counting accesses */
#define ESCAPE		 0x1d /* Ctrl-], as telnet has it */

struct attend {
	struct vm_machine *m;
	const struct vm_opts *o;
	struct vm_sinks *sinks;
	struct vm_result *res;
	struct mz_error err;
	bool over;
	bool input; /* standard input is still open and wanted */
	char in[sizeof(struct vm_frame) + VM_FRAME_MAX]; /* being received */
	size_t in_len;
	char out[sizeof(struct vm_frame) + 4096]; /* standard input, being sent */
	size_t out_len, out_at;
	char line[256]; /* of the console */
	size_t line_len;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void give_up(struct attend *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void give_up(struct attend *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!a->res->failed[0])
		vsnprintf(a->res->failed, sizeof(a->res->failed), fmt, ap);
	va_end(ap);
	a->over = true;
}

/* ---- from the guest --------------------------------------------------------------- */

static void pass_on(struct attend *a, int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0) {
			give_up(a, "standard %s: cannot write: %s", fd == 1 ? "output" : "error",
				strerror(errno));
			return;
		}
		p += w;
		n -= (size_t)w;
	}
}

static void keep(struct attend *a, struct mz_output *out, const char *p, size_t n)
{
	if (out->file.fd >= 0 && mz_output_add(out, p, n, &a->err) < 0)
		give_up(a, "%s", a->err.text);
}

static void take_frame(struct attend *a, const struct vm_frame *f, const char *data)
{
	struct vm_result *res = a->res;
	uint32_t status;

	switch (f->type) {
	case VM_READY: res->ready = true; break;
	case VM_STDOUT: pass_on(a, STDOUT_FILENO, data, f->len); break;
	case VM_STDERR: pass_on(a, STDERR_FILENO, data, f->len); break;
	case VM_KMAP:
		keep(a, a->sinks->record.dir[0] ? &a->sinks->record.out : &a->sinks->kmap, data,
		     f->len);
		break;
	case VM_FILE:
		if (vm_boot_file(&a->sinks->record, data, f->len, &a->err) < 0)
			give_up(a, "%s", a->err.text);
		break;
	case VM_STATS:
		keep(a, &a->sinks->stats, data, f->len);
		mz_buf_add(&a->sinks->account, data, f->len);
		break;
	case VM_NOTE: console_note("%.*s", (int)f->len, data); break;
	case VM_FAILED: give_up(a, "in the guest: %.*s", (int)f->len, data); break;
	case VM_EXIT:
		if (f->len != sizeof(status))
			break;
		memcpy(&status, data, sizeof(status));
		res->status = (int)status;
		res->exited = true;
		break;
	case VM_DONE:
		res->done = true;
		a->over = true;
		break;
	default: give_up(a, "the guest sent a frame of unknown type %u", f->type);
	}
}

static void take_port(struct attend *a)
{
	ssize_t n = read(a->m->port, a->in + a->in_len, sizeof(a->in) - a->in_len);
	size_t at = 0;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		a->over = true; /* QEMU is gone; what that means is said by the caller */
		return;
	}
	a->in_len += n > 0 ? (size_t)n : 0;
	while (!a->over && a->in_len - at >= sizeof(struct vm_frame)) {
		struct vm_frame f;

		memcpy(&f, a->in + at, sizeof(f));
		if (f.len > VM_FRAME_MAX) {
			give_up(a, "the guest sent a frame of %u bytes", f.len);
			return;
		}
		if (a->in_len - at < sizeof(f) + f.len)
			break;
		take_frame(a, &f, a->in + at + sizeof(f));
		at += sizeof(f) + f.len;
	}
	a->in_len -= at;
	memmove(a->in, a->in + at, a->in_len);
}

/* ---- the console ------------------------------------------------------------------- */

/* The first of these in a console line is worth telling; a panic always is. */
static void look_at_line(struct attend *a)
{
	static const char *const signs[] = {"BUG: ",
					    "WARNING: ",
					    "Oops: ",
					    "INFO: task ",
					    "rcu_preempt self-detected",
					    "general protection fault"};
	bool panic = strstr(a->line, "Kernel panic") != NULL;

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs) && !panic; i++)
		if (!a->res->splat[0] && strstr(a->line, signs[i]))
			snprintf(a->res->splat, sizeof(a->res->splat), "%s", a->line);
	if (panic)
		snprintf(a->res->splat, sizeof(a->res->splat), "%s", a->line);
}

static void take_console_bytes(struct attend *a, const char *p, size_t n)
{
	struct vm_result *res = a->res;
	size_t room = sizeof(res->tail);

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n') {
			a->line[a->line_len] = '\0';
			look_at_line(a);
			a->line_len = 0;
		} else if (p[i] != '\r' && a->line_len + 1 < sizeof(a->line)) {
			a->line[a->line_len++] = p[i];
		}
	}
	if (n > room) {
		p += n - room;
		n = room;
	}
	if (res->tail_len + n > room) {
		size_t drop = res->tail_len + n - room;

		memmove(res->tail, res->tail + drop, res->tail_len - drop);
		res->tail_len -= drop;
	}
	memcpy(res->tail + res->tail_len, p, n);
	res->tail_len += n;
}

/* Returns false when there was nothing. */
static bool take_console(struct attend *a)
{
	char buf[8192];
	ssize_t n = read(a->m->console, buf, sizeof(buf));

	if (n <= 0)
		return false;
	keep(a, &a->sinks->console, buf, (size_t)n);
	take_console_bytes(a, buf, (size_t)n);
	if (a->o->shell ? a->res->ready : a->o->console)
		pass_on(a, a->o->shell ? STDOUT_FILENO : STDERR_FILENO, buf, (size_t)n);
	return true;
}

/* ---- to the guest -------------------------------------------------------------------- */

static void take_input(struct attend *a)
{
	struct vm_frame f = {.type = VM_STDIN};
	ssize_t n = read(STDIN_FILENO, a->out + sizeof(f), 4096);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	f.len = n > 0 ? (uint32_t)n : 0;
	memcpy(a->out, &f, sizeof(f));
	a->out_at = 0;
	a->out_len = sizeof(f) + f.len;
	a->input = n > 0;
}

static void take_keys(struct attend *a)
{
	char buf[256];
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));

	if (n <= 0 || memchr(buf, ESCAPE, (size_t)n)) {
		a->res->exited = a->res->done = a->over = true; /* that is how one leaves */
		return;
	}
	for (ssize_t at = 0; at < n;) {
		ssize_t w = write(a->m->console, buf + at, (size_t)(n - at));

		if (w < 0 && errno != EAGAIN && errno != EINTR)
			return;
		at += w > 0 ? w : 0;
	}
}

static void send_input(struct attend *a)
{
	ssize_t n = write(a->m->port, a->out + a->out_at, a->out_len - a->out_at);

	if (n > 0)
		a->out_at += (size_t)n;
	if (a->out_at == a->out_len)
		a->out_at = a->out_len = 0;
}

/* ---- the loop --------------------------------------------------------------------------- */

static int signal_fd(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, old);
	sigdelset(&set, SIGPIPE); /* a write tells */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signal(struct attend *a, int fd)
{
	struct signalfd_siginfo si;

	if (read(fd, &si, sizeof(si)) != sizeof(si))
		return;
	a->res->signal = (int)si.ssi_signo;
	a->over = true;
}

static void check_time(struct attend *a, double start)
{
	double t = now() - start;
	double boot = a->m->kvm ? BOOT_SECONDS_KVM : BOOT_SECONDS_TCG;

	if (a->o->timeout && t >= (double)a->o->timeout) {
		a->res->timed_out = true;
		a->over = true;
	} else if (!a->res->ready && t >= boot) {
		give_up(a,
			"the guest did not come up within %.0f s; --console shows how far it got",
			boot);
	}
}

static void loop(struct attend *a, int signals)
{
	double start = now();

	while (!a->over) {
		bool keys = a->o->shell && a->res->ready;
		struct pollfd p[] = {
			{a->m->port, (short)(POLLIN | (a->out_len ? POLLOUT : 0)), 0},
			{a->m->console, POLLIN, 0},
			{signals, POLLIN, 0},
			{keys || (a->input && !a->out_len) ? STDIN_FILENO : -1, POLLIN, 0},
		};

		if (poll(p, 4, 200) < 0 && errno != EINTR)
			give_up(a, "poll: %s", strerror(errno));
		if (p[1].revents && !take_console(a) && p[1].revents & POLLHUP)
			a->over = true;
		if (p[0].revents & POLLOUT)
			send_input(a);
		if (p[0].revents & (POLLIN | POLLHUP | POLLERR))
			take_port(a);
		if (p[2].revents)
			take_signal(a, signals);
		if (p[3].revents && keys)
			take_keys(a);
		else if (p[3].revents)
			take_input(a);
		check_time(a, start);
	}
	while (take_console(a)) /* what was said last matters most */
		;
}

static bool raw_terminal(struct termios *old)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, old))
		return false;
	t = *old;
	cfmakeraw(&t);
	return !tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

void vm_attend(struct vm_machine *m, const struct vm_opts *o, struct vm_sinks *sinks,
	       bool forward_stdin, struct vm_result *res)
{
	struct attend *a = calloc(1, sizeof(*a));
	struct termios term;
	sigset_t old;
	bool raw;
	int signals;

	if (!a) {
		snprintf(res->failed, sizeof(res->failed), "out of memory");
		return;
	}
	a->m = m;
	a->o = o;
	a->sinks = sinks;
	a->res = res;
	a->input = forward_stdin;
	signals = signal_fd(&old);
	raw = o->shell && raw_terminal(&term);
	loop(a, signals);
	if (raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &term);
	/* the signal mask stays: a second Ctrl-C must not leave QEMU behind */
	if (signals >= 0)
		close(signals);
	free(a);
}
