// SPDX-License-Identifier: BSD-2-Clause
/* Stop a thread at a safe point and make it call functions of the program. */
#include "record/attach_thread.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#ifdef __x86_64__

#include <dirent.h>
#include <elf.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define STACK_BYTES  (256u * 1024)
#define STOP_NS	     500000000ull  /* for a thread to stop when told to */
#define STEP_NS	     3000000000ull /* of single steps, until it allocates */
#define BLOCKED_NS   20000000ull   /* a step that takes so long is a wait */
#define CALL_NS	     20000000000ull
#define MAX_THREADS  4096u
#define SYSCALL_STOP (SIGTRAP | 0x80)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 1: it stopped; 0: not within this time; -ESRCH: it is gone. */
static int wait_stop(pid_t tid, uint64_t ns, int *status)
{
	uint64_t end = now() + ns;

	for (unsigned looks = 0;; looks++) {
		pid_t got = waitpid(tid, status, WNOHANG | __WALL);

		if (got == tid)
			return WIFSTOPPED(*status) ? 1 : -ESRCH;
		if (got < 0)
			return -ESRCH;
		if (now() > end)
			return 0;
		if (looks > 200)
			nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
}

/* ---- a place where it may be held ------------------------------------------------- */

/* Calls that a thread waits in without having a lock of the allocator or of the
 * dynamic linker. The mutexes of these wait with FUTEX_WAIT. */
static bool is_harmless(uint64_t nr, uint64_t futex_op)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_write:
	case SYS_writev:
	case SYS_io_getevents:
	case SYS_flock: return true;
	case SYS_futex: return (futex_op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	default: return false;
	}
}

/* Interrupted by us in a system call that it is to go on with. */
static bool waits_harmlessly(const struct user_regs_struct *r)
{
	int64_t ret = (int64_t)r->rax;

	return (int64_t)r->orig_rax >= 0 && ret <= -512 && ret >= -516 &&
	       is_harmless(r->orig_rax, r->rsi);
}

static bool at_entry(const struct mz_attach_thread *t, uint64_t pc)
{
	for (size_t i = 0; i < t->entry_count; i++)
		if (t->entries[i] == pc)
			return true;
	return false;
}

static bool get_regs(pid_t tid, struct user_regs_struct *r)
{
	return !ptrace(PTRACE_GETREGS, tid, NULL, r);
}

static int interrupt(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -errno;
	return wait_stop(tid, STOP_NS, &status);
}

/* A step that was interrupted has its trap still to come: it must not reach the
 * program, which would die of it. */
static int swallow_trap(pid_t tid)
{
	struct __ptrace_peeksiginfo_args all = {.nr = 8};
	siginfo_t waiting[8];
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &all, waiting);
	int status;

	for (long i = 0; i < n; i++)
		if (waiting[i].si_signo == SIGTRAP)
			return ptrace(PTRACE_CONT, tid, NULL, NULL)
				       ? -errno
				       : wait_stop(tid, STOP_NS, &status);
	return 1;
}

/* A step at a time, to where malloc or its like begins, or to where it waits. */
static bool step_to_entry(struct mz_attach_thread *t, pid_t tid)
{
	uint64_t end = now() + STEP_NS;
	int signal = 0, status, ret;

	while (now() < end) {
		struct user_regs_struct r;

		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, (void *)(intptr_t)signal))
			return false;
		signal = 0;
		ret = wait_stop(tid, BLOCKED_NS, &status);
		if (!ret) {
			ret = interrupt(tid);
			if (ret > 0)
				ret = swallow_trap(tid);
			status = PTRACE_EVENT_STOP << 16;
		}
		if (ret <= 0 || !get_regs(tid, &r))
			return false;
		if (at_entry(t, r.rip) || waits_harmlessly(&r))
			return true;
		/* the program's own signals are passed on */
		if (WSTOPSIG(status) != SIGTRAP && status >> 16 != PTRACE_EVENT_STOP)
			signal = WSTOPSIG(status);
	}
	return false;
}

static bool try_thread(struct mz_attach_thread *t, pid_t tid, bool step)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD)) {
		t->refused = errno;
		return false;
	}
	t->refused = 0;
	if (interrupt(tid) <= 0) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return false;
	}
	if (get_regs(tid, &r) && (waits_harmlessly(&r) || at_entry(t, r.rip)))
		return true;
	if (step && step_to_entry(t, tid))
		return true;
	if (ptrace(PTRACE_DETACH, tid, NULL, NULL) && errno == ESRCH) {
		int status;

		/* it is running: it must stop before it can be let go */
		if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
		    wait_stop(tid, CALL_NS, &status) > 0)
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
	}
	return false;
}

static size_t list_threads(pid_t pid, pid_t *out)
{
	struct dirent *e;
	char path[64];
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && n < MAX_THREADS && (e = readdir(d)))
		if (e->d_name[0] != '.')
			out[n++] = (pid_t)atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}

/* ---- keeping what it was ------------------------------------------------------------ */

static int keep(struct mz_attach_thread *t, struct mz_error *err)
{
	struct iovec v;

	t->vectors_size = 16384;
	t->vectors = malloc(t->vectors_size);
	if (!t->vectors)
		return mz_fail_memory(err);
	v = (struct iovec){t->vectors, t->vectors_size};
	if (!get_regs(t->tid, &t->regs) ||
	    ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(t->signals), &t->signals))
		return mz_fail(err, errno, "pid %d: its registers cannot be read: %s", (int)t->pid,
			       strerror(errno));
	t->vectors_size = v.iov_len;
	return 0;
}

static int give_back(struct mz_attach_thread *t)
{
	struct iovec v = {t->vectors, t->vectors_size};

	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs) ||
	    ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(t->signals), &t->signals))
		return -errno;
	return 0;
}

/* ---- calling -------------------------------------------------------------------------- */

/* On to the next system call, begin or end. */
static int to_syscall(struct mz_attach_thread *t, struct user_regs_struct *r, struct mz_error *err)
{
	for (;;) {
		int status, ret;

		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL))
			return mz_fail(err, errno, "pid %d: cannot be resumed: %s", (int)t->pid,
				       strerror(errno));
		ret = wait_stop(t->tid, CALL_NS, &status);
		if (ret < 0)
			return mz_fail(err, ESRCH,
				       "pid %d: ended while the library was being loaded",
				       (int)t->pid);
		if (!ret) {
			interrupt(t->tid);
			return mz_fail(err, ETIMEDOUT,
				       "pid %d: a call that loads the library does not return; it "
				       "was abandoned",
				       (int)t->pid);
		}
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return get_regs(t->tid, r) ? 0 : -EIO;
		/* all signals are blocked: these are of what we called */
		if (status >> 16 != PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGSTOP)
			return mz_fail(err, EFAULT,
				       "pid %d: signal %d (%s) inside a call that loads the "
				       "library; it was abandoned",
				       (int)t->pid, WSTOPSIG(status), strsignal(WSTOPSIG(status)));
	}
}

static int make_syscall(struct mz_attach_thread *t, uint64_t nr, const uint64_t a[6],
			uint64_t *result, struct mz_error *err)
{
	struct user_regs_struct r = t->regs;
	int ret;

	r.rip = t->syscall_at;
	r.rax = nr;
	r.orig_rax = (uint64_t)-1;
	r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
	t->changed = true;
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r))
		return mz_fail(err, errno, "pid %d: its registers cannot be set: %s", (int)t->pid,
			       strerror(errno));
	ret = to_syscall(t, &r, err);
	if (!ret)
		ret = to_syscall(t, &r, err);
	*result = r.rax;
	return ret;
}

static int make_stack(struct mz_attach_thread *t, struct mz_error *err)
{
	const uint64_t a[6] = {
		0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1,
		0};
	uint64_t all = ~0ull;
	int ret;

	if (ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(all), &all))
		return mz_fail(err, errno, "pid %d: its signals cannot be blocked: %s", (int)t->pid,
			       strerror(errno));
	t->changed = true;
	ret = make_syscall(t, SYS_mmap, a, &t->stack, err);
	if (ret)
		return ret;
	if (t->stack > -4096ull) {
		ret = (int)t->stack;
		t->stack = 0;
		return mz_fail(err, -ret, "pid %d: no memory for a stack in it: %s", (int)t->pid,
			       strerror(-ret));
	}
	t->stack_size = STACK_BYTES;
	return 0;
}

uint64_t mz_attach_thread_put(struct mz_attach_thread *t, const void *data, size_t size)
{
	return size <= 4096 && mz_attach_write(t->objects, t->stack, data, size) ? t->stack : 0;
}

/* It returns to an instruction that makes a system call, which we catch and make
 * none of: no signal is needed, so none of the program's can be in the way. */
int mz_attach_thread_call(struct mz_attach_thread *t, uint64_t function, const uint64_t args[3],
			  uint64_t *result, struct mz_error *err)
{
	uint64_t top = (t->stack + t->stack_size - 256) & ~63ull, back = t->syscall_at;
	struct user_regs_struct r = t->regs;
	int ret;

	r.rsp = top - 8;
	r.rbp = 0;
	r.rip = function;
	r.rax = 0;
	r.orig_rax = (uint64_t)-1;
	r.rdi = args[0], r.rsi = args[1], r.rdx = args[2];
	r.eflags &= ~0x500ull; /* direction, single step */
	if (!mz_attach_write(t->objects, r.rsp, &back, sizeof(back)) ||
	    ptrace(PTRACE_SETREGS, t->tid, NULL, &r))
		return mz_fail(err, errno, "pid %d: a call cannot be set up: %s", (int)t->pid,
			       strerror(errno));
	do {
		ret = to_syscall(t, &r, err);
		if (ret)
			return ret;
	} while (r.rip != t->syscall_at + 2 || r.rsp != top);
	*result = r.orig_rax;
	r.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r))
		return mz_fail(err, errno, "pid %d: its registers cannot be set: %s", (int)t->pid,
			       strerror(errno));
	return to_syscall(t, &r, err);
}

int mz_attach_thread_hold(struct mz_attach_thread *t, struct mz_error *err)
{
	pid_t *all = calloc(MAX_THREADS, sizeof(*all));
	size_t n = all ? list_threads(t->pid, all) : 0;
	int ret = 0;

	if (!all)
		return mz_fail_memory(err);
	t->tid = 0;
	for (unsigned round = 0; round < 2 && !t->tid; round++)
		for (size_t i = 0; i < n && !t->tid; i++)
			if (try_thread(t, all[i], round))
				t->tid = all[i];
	free(all);
	if (!t->tid)
		return mz_fail(err, EAGAIN,
			       "pid %d: none of its %zu threads reached a point where it can load "
			       "a library (a blocking system call, or a call of malloc); try "
			       "again, or start it with "
			       "memorizer record -- CMD",
			       (int)t->pid, n);
	ret = keep(t, err);
	if (!ret)
		ret = make_stack(t, err);
	if (ret)
		mz_attach_thread_release(t);
	return ret;
}

/* To a stop of the kind that it was held in first: there a system call that was
 * interrupted is begun again by itself. */
static void to_first_stop(struct mz_attach_thread *t)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) || ptrace(PTRACE_CONT, t->tid, NULL, NULL))
		return;
	while (wait_stop(t->tid, CALL_NS, &status) > 0 && status >> 16 != PTRACE_EVENT_STOP)
		if (ptrace(PTRACE_CONT, t->tid, NULL, NULL))
			return;
}

void mz_attach_thread_release(struct mz_attach_thread *t)
{
	const uint64_t a[6] = {t->stack, t->stack_size};
	struct mz_error ignored = {0};
	uint64_t result;

	if (!t->tid)
		return;
	if (t->stack)
		make_syscall(t, SYS_munmap, a, &result, &ignored);
	if (t->changed) {
		to_first_stop(t);
		give_back(t);
	}
	ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	free(t->vectors);
	t->vectors = NULL;
	t->tid = 0;
	t->stack = 0;
	t->changed = false;
}

#else

int mz_attach_thread_hold(struct mz_attach_thread *t, struct mz_error *err)
{
	return mz_fail(err, ENOTSUP,
		       "pid %d: --pid does not support this processor; start it with "
		       "memorizer record -- CMD",
		       (int)t->pid);
}

int mz_attach_thread_call(struct mz_attach_thread *t, uint64_t function, const uint64_t args[3],
			  uint64_t *result, struct mz_error *err)
{
	(void)function, (void)args, (void)result;
	return mz_attach_thread_hold(t, err);
}

uint64_t mz_attach_thread_put(struct mz_attach_thread *t, const void *data, size_t size)
{
	(void)t, (void)data, (void)size;
	return 0;
}

void mz_attach_thread_release(struct mz_attach_thread *t)
{
	(void)t;
}

#endif
