// SPDX-License-Identifier: BSD-2-Clause
/* Explain why a running program cannot be recorded, and what to do about it. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "record/attach.h"

#define INSTEAD "start it with memorizer record -- CMD"

static void read_small(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	buf[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

/* A line of /proc/PID/status; -1 = it is not there. */
static long status_field(const char *status, const char *key)
{
	const char *p = strstr(status, key);

	return p ? strtol(p + strlen(key), NULL, 10) : -1;
}

static char status_state(const char *status)
{
	const char *p = strstr(status, "\nState:\t");

	return p ? p[8] : '?';
}

/* The order matters: a dead or traced process would give a confusing answer to the later
 * questions. */
static int check_state(pid_t pid, const char *status, struct mz_error *err)
{
	long tracer = status_field(status, "\nTracerPid:\t");
	long threads = status_field(status, "\nTgid:\t");

	if (!*status)
		return mz_fail(err, ESRCH, "pid %d: there is no such process", (int)pid);
	if (threads != pid)
		return mz_fail(err, EINVAL, "pid %d: is a thread of pid %ld; give that one",
			       (int)pid, threads);
	if (status_state(status) == 'Z' || status_state(status) == 'X')
		return mz_fail(err, ESRCH, "pid %d: has ended already", (int)pid);
	if (tracer > 0)
		return mz_fail(err, EBUSY,
			       "pid %d: is traced by pid %ld (a debugger or strace), and only one "
			       "tracer is possible; stop that one first",
			       (int)pid, tracer);
	if (status_state(status) == 'T' || status_state(status) == 't')
		return mz_fail(err, EAGAIN, "pid %d: is stopped; continue it first: kill -CONT %d",
			       (int)pid, (int)pid);
	return 0;
}

/* A seccomp filter may kill the program for mmap or open. This is checked before anything is
 * touched. */
static int check_surroundings(pid_t pid, const char *status, struct mz_error *err)
{
	char own[8192];
	long filters = status_field(status, "\nSeccomp_filters:\t");

	read_small("/proc/self/status", own, sizeof(own));
	if (status_field(status, "\nSeccomp:\t") == 1 ||
	    filters > status_field(own, "\nSeccomp_filters:\t"))
		return mz_fail(err, EPERM,
			       "pid %d: filters its system calls (seccomp), and may be killed for "
			       "those that load a library; " INSTEAD,
			       (int)pid);
	return 0;
}

/* The system calls that attaching needs, tried in a process of their own: a filter may kill the
 * process that makes them. */
static const char *find_forbidden(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		_exit(syscall(SYS_pidfd_getfd, -1, 0, 0) < 0 && errno == EBADF ? 0 : 2);
	}
	while (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)WSTOPSIG(status));
	if (pid < 0 || !status)
		return NULL;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 1 ? "ptrace" : "pidfd_getfd";
	return "ptrace or pidfd_getfd";
}

/* In a container or a service, this command itself may be filtered, too. */
static int check_own_filters(pid_t pid, struct mz_error *err)
{
	const char *forbidden;
	char own[8192];

	read_small("/proc/self/status", own, sizeof(own));
	if (status_field(own, "\nSeccomp_filters:\t") <= 0)
		return 0;
	forbidden = find_forbidden();
	if (!forbidden)
		return 0;
	return mz_fail(err, EPERM,
		       "pid %d: the filter of system calls (seccomp) that this command runs under "
		       "forbids %s; run it outside of the container or service, or " INSTEAD,
		       (int)pid, forbidden);
}

/* A kernel thread has no executable. If it cannot be read, nothing is concluded here: the next
 * check asks whether attaching is allowed, and has a better message. */
static int check_program(pid_t pid, struct mz_error *err)
{
	char path[64], program[4096];
	Elf64_Ehdr head = {0};
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, program, sizeof(program) - 1);
	if (n < 0 && errno == ENOENT)
		return mz_fail(err, EPERM,
			       "pid %d: is a kernel thread, not a program; see memorizer "
			       "kmemtraced",
			       (int)pid);
	fd = n < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* not readable for us: whether attaching is allowed is checked next */
	program[n] = '\0';
	n = read(fd, &head, sizeof(head));
	close(fd);
	if (n != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG))
		return mz_fail(err, ENOEXEC, "pid %d: %.200s is not an ELF program", (int)pid,
			       program);
	if (head.e_ident[EI_CLASS] != ELFCLASS64)
		return mz_fail(err, ENOEXEC,
			       "pid %d: %.200s is not a 64-bit program; only those can be "
			       "recorded",
			       (int)pid, program);
	if (head.e_machine != EM_X86_64)
		return mz_fail(err, ENOEXEC,
			       "pid %d: %.200s is for another processor; only programs for "
			       "x86-64 can be recorded while they run",
			       (int)pid, program);
	return 0;
}

/* ptrace(2) says EPERM for all of these. The reasons are looked up one by one, so that the
 * message can name the remedy. */
static int check_owner(pid_t pid, const char *status, struct mz_error *err)
{
	long uid = status_field(status, "\nUid:\t");
	char scope[16], path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	if (!access(path, R_OK | W_OK) && !geteuid())
		return 0;
	if (uid != (long)geteuid() && geteuid())
		return mz_fail(err, EPERM,
			       "pid %d: belongs to user %ld, and you are user %ld; run memorizer "
			       "as that user, or as root",
			       (int)pid, uid, (long)geteuid());
	read_small("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (geteuid() && *scope >= '1' && *scope <= '2')
		return mz_fail(
			err, EPERM,
			"pid %d: the kernel lets only %s attach "
			"(kernel.yama.ptrace_scope is %c); run memorizer as root, or: sysctl -w "
			"kernel.yama.ptrace_scope=0, or " INSTEAD,
			(int)pid, *scope == '1' ? "a parent" : "root", *scope);
	if (*scope == '3')
		return mz_fail(err, EPERM,
			       "pid %d: the kernel allows no attaching until the next boot "
			       "(kernel.yama.ptrace_scope is 3); " INSTEAD,
			       (int)pid);
	if (access(path, R_OK | W_OK))
		return mz_fail(err, EPERM,
			       "pid %d: does not let other processes of its user inspect it (it is "
			       "set-user-ID, or called prctl); run memorizer as root",
			       (int)pid);
	return 0;
}

int mz_attach_check(pid_t pid, struct mz_error *err)
{
	char path[64], status[8192];
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	read_small(path, status, sizeof(status));
	if (pid == getpid())
		return mz_fail(err, EINVAL, "pid %d: is this command itself", (int)pid);
	ret = check_state(pid, status, err);
	if (!ret)
		ret = check_program(pid, err);
	if (!ret)
		ret = check_owner(pid, status, err);
	if (!ret)
		ret = check_surroundings(pid, status, err);
	return ret ? ret : check_own_filters(pid, err);
}
