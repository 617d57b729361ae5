// SPDX-License-Identifier: BSD-2-Clause
/* Find the kernel, start QEMU and stop it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/self.h"
#include "cmds/vm/vm.h"
#include "guest/protocol.h"

#define MAX_ARGS 128

/* ---- files ----------------------------------------------------------------- */

static bool there(char *buf, const char *dir, const char *file)
{
	return snprintf(buf, PATH_MAX, "%s/%s", dir, file) < PATH_MAX && !access(buf, R_OK);
}

/* In a source tree the kernel can be built on the spot. */
static int build_kernel(const char *top, const char *variant, const char *installed)
{
	char script[PATH_MAX], out[PATH_MAX];
	int status;
	pid_t pid;

	if (!there(script, top, "../kernel/build") ||
	    snprintf(out, sizeof(out), "%s/kernel", top) >= (int)sizeof(out))
		return console_fail("no kernel at %s/%s; build one with 'memorizer kernel build' "
				    "(package memorizer-kernel-source), or name the folder of a "
				    "bzImage with --kernel",
				    top, installed),
		       VM_EXIT_FAILED;
	console_note("there is no kernel yet; building one takes some minutes, once");
	pid = fork();
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(script, script, "-o", out, variant, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		console_fail("building the kernel failed; see above, or run 'make kernel'");
		return VM_EXIT_FAILED;
	}
	return 0;
}

int vm_find(const struct vm_opts *o, struct vm_paths *paths)
{
	const char *dir = o->kernel ? o->kernel : getenv("MEMORIZER_KERNEL");
	const char *variant = o->kmemtrace_boot ? "kmemtrace" : o->disk ? "disk" : "memorizer";
	char top[PATH_MAX], built[64], installed[64];
	int ret;

	snprintf(built, sizeof(built), "kernel/%s/bzImage", variant);
	snprintf(installed, sizeof(installed), "lib/memorizer/%s/bzImage",
		 o->kmemtrace_boot || o->disk ? variant : "kernel");

	if (!mz_self_path(top, sizeof(top), 2) || strlen(top) > PATH_MAX - 64) {
		console_fail("cannot determine the path of this program");
		return VM_EXIT_FAILED;
	}
	if (!there(paths->init, top, "guest/init") &&
	    !there(paths->init, top, "lib/memorizer/init")) {
		console_fail("%s/guest/init is missing; run 'make'", top);
		return VM_EXIT_FAILED;
	}
	if (dir) {
		if (there(paths->kernel, dir, "bzImage"))
			return 0;
		console_fail("%s/bzImage: %s", dir, strerror(errno));
		return VM_EXIT_FAILED;
	}
	if (there(paths->kernel, top, built) || there(paths->kernel, top, installed))
		return 0;
	ret = build_kernel(top, variant, installed);
	if (!ret && !there(paths->kernel, top, built)) {
		console_fail("%s/%s: %s", top, built, strerror(errno));
		ret = VM_EXIT_FAILED;
	}
	return ret;
}

/* ---- the command line ---------------------------------------------------------- */

struct args {
	char *v[MAX_ARGS + 1];
	size_t n;
	bool failed;
};

static void arg(struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void arg(struct args *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (a->n == MAX_ARGS || vasprintf(&a->v[a->n], fmt, ap) < 0)
		a->failed = true;
	else
		a->n++;
	va_end(ap);
}

static void args_free(struct args *a)
{
	while (a->n)
		free(a->v[--a->n]);
}

/* Splits the words of --qemu at blanks. */
static void arg_words(struct args *a, const char *s)
{
	while (s && *s) {
		size_t n = strcspn(s, " \t\n");

		if (n)
			arg(a, "%.*s", (int)n, s);
		s += n + strspn(s + n, " \t\n");
	}
}

#ifdef __x86_64__
/* One moment by both clocks, read as close together as possible. */
static uint64_t now_ns(uint64_t *tsc)
{
	uint64_t best = UINT64_MAX, ns = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), after;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		after = __builtin_ia32_rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*tsc = before + best / 2;
		ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	}
	return ns;
}

static uint64_t tsc_khz(void)
{
	struct timespec pause = {.tv_nsec = 20000000};
	uint64_t from_tsc = 0, to_tsc = 0, from = now_ns(&from_tsc), to;

	nanosleep(&pause, NULL);
	to = now_ns(&to_tsc);
	return to > from ? (to_tsc - from_tsc) * 1000000 / (to - from) : 0;
}
#else
static uint64_t tsc_khz(void)
{
	return 0;
}
#endif

/*
 * A software CPU shows the host's time stamp counter. The guest measures its frequency with a timer
 * and a loop; if the host is busy at that moment, the guest's clock is wrong by a factor from then
 * on. The frequency is therefore passed to it. With -icount the counter is another one, and exact.
 */
static void clock_arg(char *buf, size_t size, const struct vm_machine *m, const struct vm_opts *o)
{
	uint64_t khz = m->kvm || (o->qemu && strstr(o->qemu, "-icount")) ? 0 : tsc_khz();

	buf[0] = '\0';
	if (khz)
		snprintf(buf, size, " tsc_early_khz=%" PRIu64, khz);
}

/* A distribution's kernel relocates itself, which the symbols beside it do not show; and a
 * system that counts each access in software misses the deadlines that systemd sets its
 * services. */
static const char disk_words[] =
	" nokaslr systemd.default_timeout_start_sec=36000 "
	"systemd.default_device_timeout_sec=36000 systemd.service_watchdogs=no "
	"udev.event_timeout=36000";

static void kernel_args(struct args *a, const struct vm_machine *m, const struct vm_opts *o)
{
	bool boot = o->boot && !o->off;
	char clock[48];

	clock_arg(clock, sizeof(clock), m, o);
	arg(a, "-append");
	/* On a busy host a CPU of the guest may stand still for long: that is not a lockup. */
	arg(a,
	    "console=ttyS0 panic=-1 no_timer_check tsc=reliable%s watchdog_thresh=60 "
	    "memorizer_enabled_boot=%s mem_log_boot=%s%s%s%s%s%s%s%s",
	    clock, boot ? "yes" : "no", boot && vm_counts_accesses(o) ? "yes" : "no",
	    boot && o->frames ? " stack_trace_boot=yes" : "",
	    boot && o->calls ? " cfg_log_boot=yes" : "",
	    boot && o->owners ? " memorizer_owners_boot=yes" : "",
	    o->kmemtrace_boot ? " kmemtrace.enable=yes" : "", o->disk ? disk_words : "",
	    o->append ? " " : "", o->append ? o->append : "");
}

/* QEMU reads a comma as the end of a value unless it is doubled. */
static void arg_drive(struct args *a, const char *options, const char *path)
{
	struct mz_buf b = {0};

	mz_buf_str(&b, options);
	for (; *path; path++)
		mz_buf_add(&b, *path == ',' ? ",," : path, *path == ',' ? 2 : 1);
	mz_buf_add(&b, "", 1);
	arg(a, "-drive");
	if (b.failed)
		a->failed = true;
	else
		arg(a, "%s", b.data);
	mz_buf_free(&b);
}

/* The format follows from the name, never from the content: its author could make QEMU open
 * other files. What the guest writes goes to a file that QEMU discards. */
static void disk_args(struct args *a, const struct vm_opts *o, const char *kernel)
{
	const char *dot = strrchr(o->disk, '.');
	bool qcow2 = dot && !strcmp(dot, ".qcow2");
	char modules[PATH_MAX];

	arg_drive(a,
		  qcow2 ? "if=none,id=disk,snapshot=on,format=qcow2,file="
			: "if=none,id=disk,snapshot=on,format=raw,file=",
		  o->disk);
	arg_words(a, "-device virtio-blk-pci,drive=disk");
	vm_beside_kernel(modules, sizeof(modules), kernel, "modules.img");
	if (access(modules, R_OK))
		return;
	arg_drive(a, "if=none,id=modules,readonly=on,format=raw,file=", modules);
	arg_words(a, "-device virtio-blk-pci,drive=modules");
}

static void make_args(struct args *a, const struct vm_machine *m, const struct vm_opts *o,
		      const char *kernel, const int *fds)
{
	uint64_t smp = o->smp ? o->smp : 2;

	arg(a, "qemu-system-x86_64");
	arg_words(a, "-nodefaults -no-user-config -no-reboot -display none -machine pc");
	/*
	 * One thread for all CPUs: before version 8.1, QEMU may keep a translation of code that
	 * another thread has just changed. The guest then dies of a breakpoint that it has already
	 * removed (any static key, any tracepoint).
	 */
	if (!m->kvm)
		arg_words(a, o->parallel ? "-accel tcg" : "-accel tcg,thread=single");
	/* In software a string instruction works byte by byte: make the guest use others. */
	arg_words(a, m->kvm ? "-accel kvm -cpu host" : "-cpu max,-erms,-fsrm");
	arg(a, "-smp");
	/* one CPU per socket: the BIOS puts no others into its MP table */
	arg(a, "%" PRIu64 ",sockets=%" PRIu64, smp, smp);
	arg(a, "-m");
	arg(a, "%" PRIu64 "M", o->mem ? o->mem >> 20 : 2048);
	arg(a, "-kernel");
	arg(a, "%s", kernel);
	arg(a, "-initrd");
	arg(a, "/dev/fd/%d", fds[2]);
	kernel_args(a, m, o);
	arg_words(a, "-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap");
	arg_words(a, "-device virtio-9p-pci,fsdev=host,mount_tag=host");
	arg(a, "-chardev");
	arg(a, "socket,id=port,fd=%d", fds[0]);
	arg_words(a, "-device virtio-serial-pci -device virtserialport,chardev=port,name=" VM_PORT);
	arg(a, "-chardev");
	arg(a, "socket,id=console,fd=%d", fds[1]);
	arg_words(a, "-serial chardev:console -device virtio-rng-pci");
	if (o->disk)
		disk_args(a, o, kernel);
	if (o->net)
		arg_words(a, "-nic user,model=virtio-net-pci");
	arg_words(a, o->qemu);
}

/* ---- start and stop -------------------------------------------------------------- */

static void child(struct args *a, pid_t parent, int log)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	/* QEMU must not outlive us, and Ctrl-C is for us. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	execvp(a->v[0], a->v);
	dprintf(log, "qemu-system-x86_64: %s; install the package qemu-system-x86\n",
		strerror(errno));
	_exit(127);
}

/* Two ends of a socket; ours is close-on-exec and does not block. */
static int pair(int *ours, int *theirs, struct mz_error *err)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		return mz_fail(err, errno, "socketpair: %s", strerror(errno));
	*ours = fd[0];
	*theirs = fd[1];
	fcntl(fd[0], F_SETFD, FD_CLOEXEC);
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	return 0;
}

int vm_start(struct vm_machine *m, const struct vm_opts *o, const struct vm_paths *paths,
	     const struct mz_buf *job, struct mz_error *err)
{
	int fds[3] = {-1, -1, -1};
	struct args a = {.n = 0};
	pid_t self = getpid();

	m->pid = -1;
	m->port = m->console = -1;
	m->log = memfd_create("qemu", MFD_CLOEXEC);
	fds[2] = vm_make_initramfs(paths, job, err);
	if (fds[2] < 0 || pair(&m->port, &fds[0], err) < 0 || pair(&m->console, &fds[1], err) < 0)
		goto out;
	make_args(&a, m, o, paths->kernel, fds);
	if (a.failed) {
		mz_fail(err, E2BIG, "too many arguments for QEMU");
		goto out;
	}
	m->pid = fork();
	if (!m->pid)
		child(&a, self, m->log);
	if (m->pid < 0)
		mz_fail(err, errno, "fork: %s", strerror(errno));
out:
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	args_free(&a);
	if (m->pid < 0)
		vm_stop(m, NULL, NULL);
	return m->pid < 0 ? -1 : 0;
}

void vm_show_log(struct vm_machine *m)
{
	char buf[4096];
	ssize_t n = m->log >= 0 ? pread(m->log, buf, sizeof(buf), 0) : 0;

	if (n > 0) {
		fprintf(stderr, "QEMU said:\n");
		vm_write_text(stderr, buf, (size_t)n);
	}
}

void vm_release(struct vm_machine *m)
{
	vm_stop(m, NULL, NULL);
	if (m->log >= 0)
		close(m->log);
	m->log = -1;
}
