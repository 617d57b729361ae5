/* SPDX-License-Identifier: BSD-2-Clause */
/* Start a command that is traced from its first instruction on. */
#ifndef MZ_TESTS_TOOLS_TRACED_H
#define MZ_TESTS_TOOLS_TRACED_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Its process, or -1. options: PTRACE_O_*. */
static inline pid_t start_traced(char **argv, long options)
{
	pid_t pid = fork();

	if (!pid) {
		raise(SIGSTOP); /* until it is traced */
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, WUNTRACED) != pid ||
	    ptrace(PTRACE_SEIZE, pid, NULL, (void *)options))
		return -1;
	kill(pid, SIGCONT);
	return pid;
}

#endif
