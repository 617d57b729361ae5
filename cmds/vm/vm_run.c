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

/* Limits on the CPU time of QEMU until the guest is up. With KVM, to detect one that runs nothing;
 * in software, enough for a boot with KUnit and every access counted. */
#define BOOT_CPU_KVM 60
#define BOOT_CPU_TCG 3600
#define STATS_MAX    (1u << 20)	 /* of show_stats, which is some KiB */
#define MODULES_MAX  (64u << 20) /* of the symbols of modules: a line is about 50 bytes */
#define ESCAPE	     0x1d	 /* Ctrl-], as telnet has it */
#define MOST_READS   64		 /* in a row, of a QEMU that is to end */

struct attend {
	struct vm_machine *m;
	const struct vm_opts *o;
	struct vm_sinks *sinks;
	struct vm_result *res;
	struct mz_error err;
	struct vm_progress progress; /* until the guest is up; then until it has ended */
	bool over;
	bool input; /* standard input is still open and wanted */
	bool bye;   /* the guest waits for our word that everything has arrived */
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

void vm_write_text(FILE *to, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t')
			fputc(c, to);
		else if (c != '\r')
			fprintf(to, "\\x%02x", c);
	}
}

/* A text from the guest, for a message: it may contain anything. */
static const char *safe(char *buf, size_t size, const char *text, size_t n)
{
	return mz_printable(buf, size, text, n);
}

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

static void take_stats(struct attend *a, const char *data, size_t n)
{
	if (a->sinks->account.len + n > STATS_MAX) {
		give_up(a, "the guest sent more than %u bytes of statistics", STATS_MAX);
		return;
	}
	keep(a, &a->sinks->stats, data, n);
	mz_buf_add(&a->sinks->account, data, n);
}

static void take_modules(struct attend *a, const char *data, size_t n)
{
	if (a->sinks->modules.len + n > MODULES_MAX)
		give_up(a, "the guest sent more than %u bytes of symbols of modules", MODULES_MAX);
	else
		mz_buf_add(&a->sinks->modules, data, n);
}

/* Everything has arrived. The guest ends when it learns this, and QEMU with it. */
static void take_done(struct attend *a)
{
	if (!a->res->exited) {
		give_up(a, "the guest sent no exit status");
		return;
	}
	a->res->done = a->bye = true;
	a->input = false;
	vm_progress_begin(&a->progress, a->m->pid);
}

static void take_frame(struct attend *a, const struct vm_frame *f, const char *data)
{
	struct vm_result *res = a->res;
	uint32_t status;
	char text[1024];

	if (res->done)
		return; /* nothing can follow */
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
	case VM_MODULES: take_modules(a, data, f->len); break;
	case VM_STATS: take_stats(a, data, f->len); break;
	case VM_NOTE: console_note("%s", safe(text, sizeof(text), data, f->len)); break;
	case VM_FAILED:
		give_up(a, "in the guest: %s", safe(text, sizeof(text), data, f->len));
		break;
	case VM_EXIT:
		if (f->len != sizeof(status))
			break;
		memcpy(&status, data, sizeof(status));
		res->status = (int)status;
		res->exited = true;
		break;
	case VM_DONE: take_done(a); break;
	default: give_up(a, "the guest sent a frame of unknown type %u", f->type);
	}
}

static void take_port(struct attend *a)
{
	ssize_t n = read(a->m->port, a->in + a->in_len, sizeof(a->in) - a->in_len);
	size_t at = 0;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		/* QEMU has ended, and everything that it sent was read; the caller decides what
		 * that means */
		a->over = true;
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

/* The first of these in a console line is reported; a panic always is. */
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
			safe(a->res->splat, sizeof(a->res->splat), a->line, strlen(a->line));
	if (panic)
		safe(a->res->splat, sizeof(a->res->splat), a->line, strlen(a->line));
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

/* Returns false when there was nothing. A shell has the terminal for itself; otherwise the
 * guest's output must not control it. */
static bool take_console(struct attend *a)
{
	char buf[8192];
	ssize_t n = read(a->m->console, buf, sizeof(buf));

	if (n <= 0)
		return false;
	vm_progress_noted(&a->progress);
	keep(a, &a->sinks->console, buf, (size_t)n);
	take_console_bytes(a, buf, (size_t)n);
	if (a->o->shell && a->res->ready)
		pass_on(a, STDOUT_FILENO, buf, (size_t)n);
	else if (!a->o->shell && a->o->console)
		vm_write_text(stderr, buf, (size_t)n);
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
		a->res->exited = a->res->done = a->over = true; /* Ctrl-], or the end of input */
		a->res->left = true;
		return;
	}
	for (ssize_t at = 0; at < n;) {
		ssize_t w = write(a->m->console, buf + at, (size_t)(n - at));

		if (w < 0 && errno != EAGAIN && errno != EINTR)
			return;
		at += w > 0 ? w : 0;
	}
}

/* Behind what is still under way. */
static void queue_bye(struct attend *a)
{
	struct vm_frame f = {.type = VM_BYE};

	if (!a->bye || a->out_len)
		return;
	memcpy(a->out, &f, sizeof(f));
	a->out_at = 0;
	a->out_len = sizeof(f);
	a->bye = false;
}

static void send_out(struct attend *a)
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

	vm_end_signals(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, old);
	sigdelset(&set, SIGPIPE); /* write() reports it */
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
	double boot = a->m->kvm ? BOOT_CPU_KVM : BOOT_CPU_TCG;

	if (a->res->done) {
		a->over |= vm_ending_over(&a->progress);
	} else if (a->o->timeout && now() - start >= (double)a->o->timeout) {
		a->res->timed_out = true;
		a->over = true;
	} else if (!a->res->ready && vm_progress_over(&a->progress, boot)) {
		give_up(a, "the guest has not booted yet; --console shows how far it is");
	}
}

static void loop(struct attend *a, int signals)
{
	double start = now();
	bool console = true; /* still open */

	vm_progress_begin(&a->progress, a->m->pid);
	for (; !a->over; queue_bye(a)) {
		bool keys = a->o->shell && a->res->ready && !a->res->done;
		struct pollfd p[] = {
			{a->m->port, (short)(POLLIN | (a->out_len ? POLLOUT : 0)), 0},
			{console ? a->m->console : -1, POLLIN, 0},
			{signals, POLLIN, 0},
			{keys || (a->input && !a->out_len) ? STDIN_FILENO : -1, POLLIN, 0},
		};

		if (poll(p, 4, 200) < 0 && errno != EINTR)
			give_up(a, "poll: %s", strerror(errno));
		/* a closed console means that QEMU is ending; the port may still hold data, so only
		 * its end counts */
		if (p[1].revents && !take_console(a) && p[1].revents & POLLHUP)
			console = false;
		if (p[0].revents & POLLOUT)
			send_out(a);
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
}

/* While QEMU ends: its last words count, and frames do not, which QEMU must not wait to send. One
 * that never stops talking must not keep us. */
static void take_last(void *with)
{
	struct attend *a = with;

	for (int i = 0; i < MOST_READS && take_console(a); i++)
		;
	for (int i = 0; i < MOST_READS && read(a->m->port, a->in, sizeof(a->in)) > 0; i++)
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
		vm_stop(m, NULL, NULL);
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
	vm_stop(m, take_last, a);
	free(a);
}
