// SPDX-License-Identifier: BSD-2-Clause
/*
 * Kill a command at a chosen moment of its life: killat [-r] N CMD ARGS runs it, stops it
 * before and after each system call of all its threads, and kills it with SIGKILL at
 * stop number N. With -r stops at read() are not counted: some commands do little else. Prints how
 * many stops there were, and the number of the last call. Processes that the command starts are
 * left alone. Status: 0 if it was killed there, 3 if it ended before.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/traced.h"

#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)

/* The signal that a stop is about, to be passed on; 0 = none. */
static int signal_of(int status)
{
	if (status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80))
		return 0;
	return WSTOPSIG(status);
}

static bool is_read(pid_t pid)
{
#ifdef __x86_64__
	return ptrace(PTRACE_PEEKUSER, pid, (void *)offsetof(struct user, regs.orig_rax), NULL) ==
	       SYS_read;
#else
	return false;
#endif
}

int main(int argc, char **argv)
{
	bool no_reads = argc > 1 && !strcmp(argv[1], "-r");
	long at, stops = 0;
	pid_t pid, got;
	int status;

	argv += no_reads;
	at = argc > 2 + no_reads ? atol(argv[1]) : 0;
	pid = argc > 2 + no_reads ? start_traced(argv + 2, OPTIONS) : -1;
	if (pid < 0)
		return 2;
	while ((got = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (got <= 0 || !WIFSTOPPED(status)) {
			if (got == pid)
				break;
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && !(no_reads && is_read(got)) &&
		    ++stops == at) {
			kill(pid, SIGKILL);
			/* its other threads have to be seen off too */
			while ((got = waitpid(-1, &status, __WALL)) > 0)
				if (got == pid && !WIFSTOPPED(status))
					break;
			printf("killed at stop %ld\n", stops);
			return 0;
		}
		ptrace(PTRACE_SYSCALL, got, NULL, (void *)(long)signal_of(status));
	}
	printf("ended after %ld stops\n", stops);
	return 3;
}
