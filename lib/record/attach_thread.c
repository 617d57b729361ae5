// SPDX-License-Identifier: BSD-2-Clause
/* Hold a thread of another program and make it call functions. */
#include "record/attach_thread.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

#ifdef __x86_64__

#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES  (256u * 1024)
#define RED_ZONE     128u
#define STOP_NS	     500000000ull  /* for a thread to stop after an interrupt */
#define LOOK_NS	     3000000000ull /* for a thread that does not wait to reach a safe place */
#define CALL_NS	     20000000000ull
#define MAX_THREADS  4096u
#define SYSCALL_STOP (SIGTRAP | 0x80)

/* 1: it stopped; 0: not within this time; -ESRCH: it is gone. */
static int wait_stop(pid_t tid, uint64_t ns, int *status)
{
	uint64_t end = mz_now_ns() + ns;

	for (unsigned looks = 0;; looks++) {
		pid_t got = waitpid(tid, status, WNOHANG | __WALL);

		if (got == tid)
			return WIFSTOPPED(*status) ? 1 : -ESRCH;
		if (got < 0)
			return -ESRCH;
		if (mz_now_ns() > end)
			return 0;
		if (looks > 200)
			nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
}

/* ---- holding ----------------------------------------------------------------------- */

static bool get_regs(pid_t tid, struct user_regs_struct *r)
{
	return !ptrace(PTRACE_GETREGS, tid, NULL, r);
}

static long resume(pid_t tid, int signal)
{
	return ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
}

/* Bring the thread to a stop of our own. A signal that arrives first is the program's, and is
 * passed on. */
static int interrupt(pid_t tid, uint64_t ns)
{
	int status, ret;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -errno;
	for (;;) {
		ret = wait_stop(tid, ns, &status);
		if (ret <= 0 || status >> 16 == PTRACE_EVENT_STOP)
			return ret;
		if (resume(tid, WSTOPSIG(status) == SYSCALL_STOP ? 0 : WSTOPSIG(status)))
			return -errno;
	}
}

/* Is it stopped before a system call? */
static bool before_syscall(pid_t tid)
{
	struct __ptrace_syscall_info info = {0};

	return ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* Let the thread run to its next system call, or for a short time. 1 = it stopped, 0 or less = it
 * is lost. */
static int run_on(pid_t tid, unsigned looks)
{
	/* the time varies, so that the stops do not keep step with a loop of the program */
	uint64_t moment = 100000 + looks * 2654435761u % 700000;
	int status, ret, signal = 0;

	do {
		if (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)signal))
			return -errno;
		ret = wait_stop(tid, moment, &status);
		if (!ret)
			return interrupt(tid, STOP_NS);
		signal = WSTOPSIG(status);
	} while (ret > 0 && signal != SYSCALL_STOP && status >> 16 != PTRACE_EVENT_STOP);
	return ret;
}

/* May the thread be borrowed where it is? If not, it continues as if it had not been
 * interrupted: a wait that was cut short is made again. */
static bool stands_well(struct mz_attach_thread *t, pid_t tid)
{
	struct user_regs_struct r;

	if (!get_regs(tid, &r))
		return false;
	t->before_syscall = before_syscall(tid);
	t->repeats = !t->before_syscall && mz_attach_repeat(tid, &r);
	return mz_attach_place(t, tid, &r);
}

/* Let the thread run, and check again where it is, until it is at a safe place. No single steps:
 * the trap of a step would kill the program if we died. */
static bool wait_for_place(struct mz_attach_thread *t, pid_t tid)
{
	uint64_t end = mz_now_ns() + LOOK_NS;

	for (unsigned looks = 1; mz_now_ns() < end; looks++) {
		if (run_on(tid, looks) <= 0)
			return false;
		if (stands_well(t, tid))
			return true;
	}
	return false;
}

/* A thread must be stopped before it can be detached. False: it does not stop. */
static bool let_run(pid_t tid)
{
	if (!ptrace(PTRACE_DETACH, tid, NULL, NULL) || errno != ESRCH)
		return true;
	/* 0 = it still runs; below 0 = it has ended */
	return interrupt(tid, CALL_NS) < 0 || !ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* It waits in the kernel for something that no signal interrupts, such as the exec of a child of
 * vfork(), and would stop only after that: we must not begin with it. */
static bool is_uninterruptible(pid_t pid, pid_t tid)
{
	char path[64], line[512] = "", *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	state = strrchr(line, ')');
	return state && state[1] == ' ' && state[2] == 'D';
}

/* A listed thread may have ended, and its number may belong to another program now. Once a
 * thread is held, its number cannot change any more, so this is checked now. */
static bool belongs_to(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

static bool try_thread(struct mz_attach_thread *t, pid_t tid, bool patient)
{
	if (is_uninterruptible(t->pid, tid))
		return false;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD)) {
		t->refused = errno;
		return false;
	}
	t->refused = 0;
	if (belongs_to(t->pid, tid) && interrupt(tid, STOP_NS) > 0 &&
	    (stands_well(t, tid) || (patient && wait_for_place(t, tid))))
		return true;
	t->stuck = !let_run(tid);
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
	struct iovec v = {t->vectors, ATTACH_STATE};

	if (!get_regs(t->tid, &t->regs) ||
	    ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(t->signals), &t->signals))
		return mz_fail(err, errno, "pid %d: its registers cannot be read: %s", (int)t->pid,
			       strerror(errno));
	t->vectors_size = v.iov_len;
	if (t->before_syscall) {
		/* the thread will arrive at the call once more */
		t->regs.rip -= 2;
		t->regs.rax = t->regs.orig_rax;
		t->regs.orig_rax = (uint64_t)-1;
	}
	t->own_frame = mz_attach_frame(t, t->regs.rsp - RED_ZONE);
	t->frame = t->own_frame;
	if (!t->frame)
		return mz_fail(err, EFAULT, "pid %d: its stack cannot be written", (int)t->pid);
	return 0;
}

/* The registers come last: until then the thread would restore itself from its frame. */
static void give_back(struct mz_attach_thread *t)
{
	struct iovec v = {t->vectors, t->vectors_size};

	if (t->errno_at)
		mz_attach_write(t->objects, t->errno_at, &t->its_errno, sizeof(int));
	if (ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(t->signals), &t->signals))
		return;
	ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
}

/* ---- calling -------------------------------------------------------------------------- */

/* Continue to the next system call: 1 = its entry, 0 = its end, or -errno. */
static int to_syscall(struct mz_attach_thread *t, struct user_regs_struct *r, struct mz_error *err)
{
	struct __ptrace_syscall_info info;
	int status, ret;

	do {
		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL))
			return mz_fail(err, errno, "pid %d: cannot be resumed: %s", (int)t->pid,
				       strerror(errno));
		ret = wait_stop(t->tid, CALL_NS, &status);
		if (ret < 0)
			return mz_fail(err, ESRCH,
				       "pid %d: ended while the library was being loaded",
				       (int)t->pid);
		if (!ret) {
			interrupt(t->tid, STOP_NS);
			return mz_fail(err, ETIMEDOUT,
				       "pid %d: a call that loads the library does not return; it "
				       "was abandoned",
				       (int)t->pid);
		}
		/* all signals are blocked, so this one was caused by the function that we called */
		if (WSTOPSIG(status) != SYSCALL_STOP && status >> 16 != PTRACE_EVENT_STOP &&
		    WSTOPSIG(status) != SIGSTOP)
			return mz_fail(err, EFAULT,
				       "pid %d: signal %d (%s) inside a call that loads the "
				       "library; it was abandoned",
				       (int)t->pid, WSTOPSIG(status), strsignal(WSTOPSIG(status)));
	} while (WSTOPSIG(status) != SYSCALL_STOP);
	if (!get_regs(t->tid, r) ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, (void *)sizeof(info), &info) <= 0)
		return mz_fail(err, EIO, "pid %d: its registers cannot be read", (int)t->pid);
	return info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* Run until the call has returned: then the thread is before the system call that restores it. */
static int run_call(struct mz_attach_thread *t, struct mz_attach_request *q, uint64_t sp,
		    struct mz_error *err)
{
	for (;;) {
		struct user_regs_struct r;
		int entry = to_syscall(t, &r, err), ret = 0;

		if (entry < 0)
			return entry;
		if (entry && r.rip == t->sigreturn_at + 9 && r.rsp == t->frame + 8)
			return 0;
		if (entry && q->pointer && r.rip == t->syscall_at + 2 && r.rsp == sp + 8) {
			/* the result arrives as the number of a system call, which is not made */
			q->result = r.orig_rax;
			r.orig_rax = (uint64_t)-1;
			ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
		} else if (q->watch) {
			ret = q->watch(q->arg, &r, entry, err);
		}
		if (ret < 0)
			return ret;
	}
}

/* The way back: for a pointer, a system call that does not exist, with the pointer as its number
 * (we see it there); then the frame, from which the kernel restores the thread. */
static bool put_way_back(const struct mz_attach_thread *t, uint64_t *sp)
{
	const uint64_t words[2] = {t->syscall_at, t->syscall_at + 2};

	*sp = t->frame - sizeof(words);
	return mz_attach_write(t->objects, *sp, words, sizeof(words));
}

int mz_attach_thread_call(struct mz_attach_thread *t, struct mz_attach_request *q,
			  struct mz_error *err)
{
	const uint64_t all = ~0ull;
	struct user_regs_struct r = t->regs;
	uint64_t sp = t->frame;

	if (!q->function || (q->pointer && !put_way_back(t, &sp)))
		return mz_fail(err, EFAULT, "pid %d: a call cannot be set up", (int)t->pid);
	r.rsp = sp;
	r.rbp = 0;
	r.rip = q->function;
	r.rax = 0;
	r.orig_rax = (uint64_t)-1;
	r.rdi = q->args[0], r.rsi = q->args[1], r.rdx = q->args[2];
	r.rcx = q->args[3], r.r8 = q->args[4], r.r9 = q->args[5];
	r.eflags &= ~0x500ull; /* direction, single step */
	t->changed = true;
	/* the registers first: signals that are blocked without a way back stay blocked */
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(all), &all))
		return mz_fail(err, errno, "pid %d: a call cannot be set up: %s", (int)t->pid,
			       strerror(errno));
	return run_call(t, q, sp, err);
}

/* ---- the stack ------------------------------------------------------------------------- */

static int see_mmap(void *arg, const struct user_regs_struct *r, bool entry, struct mz_error *err)
{
	(void)err;
	if (!entry && r->orig_rax == SYS_mmap)
		*(uint64_t *)arg = r->rax;
	return 0;
}

static int make_stack(struct mz_attach_thread *t, struct mz_error *err)
{
	uint64_t at = (uint64_t)-ENOMEM;
	struct mz_attach_request q = {.function = t->mmap_at,
				      .args = {0, STACK_BYTES, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0},
				      .watch = see_mmap,
				      .arg = &at};
	int ret = mz_attach_thread_call(t, &q, err);

	if (ret)
		return ret;
	if (at > -4096ull)
		return mz_fail(err, -(int)at, "pid %d: cannot allocate a stack in it: %s",
			       (int)t->pid, strerror(-(int)at));
	t->stack = at;
	t->stack_size = STACK_BYTES;
	t->frame = mz_attach_frame(t, at + STACK_BYTES);
	if (t->frame)
		return 0;
	t->frame = t->own_frame;
	return mz_fail(err, EFAULT, "pid %d: its memory cannot be written", (int)t->pid);
}

uint64_t mz_attach_thread_room(const struct mz_attach_thread *t)
{
	return t->stack;
}

int mz_attach_thread_hold(struct mz_attach_thread *t, struct mz_error *err)
{
	pid_t *all = calloc(MAX_THREADS, sizeof(*all));
	size_t n = all ? list_threads(t->pid, all) : 0;
	int ret;

	t->vectors = malloc(ATTACH_STATE);
	t->vectors_size = ATTACH_STATE;
	t->tid = 0;
	for (unsigned round = 0; t->vectors && round < 2 && !t->tid; round++)
		for (size_t i = 0; i < n && !t->tid && !t->stuck; i++)
			if (try_thread(t, all[i], round))
				t->tid = all[i];
	free(all);
	if (!all || !t->vectors)
		return mz_fail_memory(err);
	if (!t->tid) {
		free(t->vectors);
		t->vectors = NULL;
		/* it stops when it leaves the kernel, and continues when we end */
		if (t->stuck)
			return mz_fail(err, EAGAIN,
				       "pid %d: one of its threads can be neither stopped nor "
				       "released: it waits in the kernel; try again later",
				       (int)t->pid);
		return mz_fail(
			err, EAGAIN,
			"pid %d: none of its %zu threads reached a point where it can load a "
			"library (a blocking system call, or code of its own); try again, or start "
			"it with memorizer record -- CMD",
			(int)t->pid, n);
	}
	ret = keep(t, err);
	if (!ret)
		ret = make_stack(t, err);
	if (ret)
		mz_attach_thread_release(t);
	return ret;
}

/* Bring the thread to the kind of stop in which it was held first: from there an interrupted
 * system call restarts by itself. On its way the thread would restore itself. */
static bool to_first_stop(struct mz_attach_thread *t)
{
	struct user_regs_struct r;

	if (!get_regs(t->tid, &r))
		return false;
	r.rip = t->sigreturn_at;
	r.rsp = t->frame + 8;
	r.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) ||
	    ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) || resume(t->tid, 0))
		return false;
	return interrupt(t->tid, CALL_NS) > 0;
}

void mz_attach_thread_release(struct mz_attach_thread *t)
{
	struct mz_attach_request q = {.function = t->munmap_at, .args = {t->stack, t->stack_size}};
	struct mz_error ignored = {0};

	if (!t->tid)
		return;
	t->frame = t->own_frame;
	if (t->stack)
		mz_attach_thread_call(t, &q, &ignored);
	if (t->changed && to_first_stop(t))
		give_back(t);
	let_run(t->tid);
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

int mz_attach_thread_call(struct mz_attach_thread *t, struct mz_attach_request *q,
			  struct mz_error *err)
{
	(void)q;
	return mz_attach_thread_hold(t, err);
}

uint64_t mz_attach_thread_room(const struct mz_attach_thread *t)
{
	(void)t;
	return 0;
}

void mz_attach_thread_release(struct mz_attach_thread *t)
{
	(void)t;
}

#endif
