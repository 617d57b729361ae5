// SPDX-License-Identifier: BSD-2-Clause
/* Find out whether a stopped thread may be borrowed where it is. */
#include "record/attach_thread.h"

#ifdef __x86_64__

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define MOST_STACK	 (1u << 20)
/* Newer than the headers that we build with. */
#define SYS_EPOLL_PWAIT2 441

/* Calls in which a thread waits without holding a lock of the allocator or of the dynamic
 * linker. Their mutexes wait with FUTEX_WAIT. */
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
	case SYS_flock:
	/* continues a wait with a time limit, which none of these locks has */
	case SYS_restart_syscall: return true;
	case SYS_futex: return (futex_op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	default: return false;
	}
}

/* Calls that the kernel never restarts: they return EINTR although no signal arrived, and a
 * program that does not expect this would notice us. */
static bool is_cut_short(const struct user_regs_struct *r)
{
	if ((int64_t)r->rax != -EINTR)
		return false;
	switch ((int64_t)r->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_EPOLL_PWAIT2:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
	/* of a socket with a time limit (SO_RCVTIMEO, SO_SNDTIMEO) */
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4: return true;
	default: return false;
	}
}

/* A signal that is about to be handled: the call must return EINTR for it. */
static bool signal_comes(pid_t tid)
{
	unsigned long long pending = 0, shared = 0, blocked = 0;
	char path[64], line[128];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in)) {
		sscanf(line, "SigPnd: %llx", &pending);
		sscanf(line, "ShdPnd: %llx", &shared);
		sscanf(line, "SigBlk: %llx", &blocked);
	}
	if (in)
		fclose(in);
	return (pending | shared) & ~blocked;
}

bool mz_attach_repeat(pid_t tid, struct user_regs_struct *r)
{
	if (!is_cut_short(r) || signal_comes(tid))
		return false;
	r->rip -= 2;
	r->rax = r->orig_rax;
	r->orig_rax = (uint64_t)-1;
	return !ptrace(PTRACE_SETREGS, tid, NULL, r);
}

/* We interrupted the thread in a system call, which it must be able to continue. */
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

/* The thread's descriptor is at the end of its stack; the kernel names the stack of the first
 * thread. Any other stack may be as small as its owner needs it. */
bool mz_attach_own_stack(const struct mz_attach_thread *t, const struct user_regs_struct *r,
			 uint64_t from)
{
	struct mz_attach_map m;

	if (!mz_attach_mapping(t->pid, r->rsp, &m) || from < m.start + 4096)
		return false;
	return !strcmp(m.path, "[stack]") || (r->fs_base > r->rsp && r->fs_base < m.end);
}

/* ---- code of the program itself ------------------------------------------------------ */

/* These hold locks that loading a library needs. */
static bool is_system_code(const char *path)
{
	static const char *const names[] = {
		"libc.", "libc-", "ld-", "ld.", "libdl", "libpthread", "memorizer-preload"};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(slash + 1, names[i], strlen(names[i])))
			return true;
	return !slash;
}

static bool in_program(const struct mz_attach_thread *t, uint64_t pc)
{
	struct mz_attach_map m;

	if (!mz_attach_mapping(t->pid, pc, &m) || is_system_code(m.path))
		return false;
	/* an allocator of the program's own */
	for (size_t i = 0; i < t->entry_count; i++)
		if (t->entries[i] >= m.start && t->entries[i] < m.end)
			return false;
	return true;
}

/* In a signal handler, which may have interrupted malloc. */
static bool in_handler(const struct mz_attach_thread *t, uint64_t sp)
{
	uint64_t words[512];
	struct mz_attach_map m;

	if (!mz_attach_mapping(t->pid, sp, &m))
		return true;
	for (sp &= ~7ull; sp < m.end; sp += sizeof(words)) {
		size_t n = m.end - sp < sizeof(words) ? (size_t)(m.end - sp) : sizeof(words);

		if (m.end - sp > MOST_STACK && strcmp(m.path, "[stack]"))
			m.end = sp + MOST_STACK;
		if (!mz_attach_read(t->objects, sp, words, n))
			return true;
		for (size_t i = 0; i < n / 8; i++)
			if (words[i] == t->sigreturn_at)
				return true;
	}
	return false;
}

/* In a sequence that the kernel restarts after an interruption: the thread would not notice that
 * it was interrupted. */
static bool in_restartable(const struct mz_attach_thread *t, pid_t tid)
{
	struct __ptrace_rseq_configuration c = {0};
	uint64_t section = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, (void *)sizeof(c), &c) <= 0 ||
	    !c.rseq_abi_pointer)
		return false;
	return !mz_attach_read(t->objects, c.rseq_abi_pointer + 8, &section, sizeof(section)) ||
	       section;
}

bool mz_attach_place(const struct mz_attach_thread *t, pid_t tid, const struct user_regs_struct *r)
{
	bool entry = at_entry(t, r->rip), waits;

	waits = t->repeats ||
		(t->before_syscall ? is_harmless(r->orig_rax, r->rsi) : waits_harmlessly(r));
	if (!entry && !waits &&
	    ((int64_t)r->orig_rax >= 0 || !in_program(t, r->rip) || in_restartable(t, tid)))
		return false;
	return mz_attach_own_stack(t, r, r->rsp - 128 - mz_attach_frame_room(t)) &&
	       !in_handler(t, r->rsp);
}

#endif
