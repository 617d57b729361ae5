// SPDX-License-Identifier: BSD-2-Clause
/*
 * Do something at the worst moment: between HELPER CMD ARGS runs CMD, stops it before it asks
 * for another process with ptrace(PTRACE_SEIZE) for the first time, runs HELPER with sh, and
 * lets CMD go on. Status: that of CMD; 120 if it never came there.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/traced.h"

static bool is_seize(pid_t pid)
{
	struct __ptrace_syscall_info i;

	return ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(i), &i) > 0 &&
	       i.op == PTRACE_SYSCALL_INFO_ENTRY && i.entry.nr == SYS_ptrace &&
	       i.entry.args[0] == PTRACE_SEIZE;
}

int main(int argc, char **argv)
{
	pid_t pid =
		argc > 2 ? start_traced(argv + 2, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) : -1;
	bool done = false;
	int status;

	if (pid < 0)
		return 2;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		bool call = WSTOPSIG(status) == (SIGTRAP | 0x80);

		if (call && !done && is_seize(pid)) {
			done = true;
			if (system(argv[1]))
				fprintf(stderr, "between: the helper failed\n");
		}
		ptrace(PTRACE_SYSCALL, pid, NULL,
		       (void *)(long)(call || status >> 16 ? 0 : WSTOPSIG(status)));
	}
	return !done ? 120 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
