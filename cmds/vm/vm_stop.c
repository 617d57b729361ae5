// SPDX-License-Identifier: BSD-2-Clause
/* Wait for QEMU and end it, judging by the work that it does, not by the clock.
 *
 * On a busy host QEMU may get a tenth of a CPU, and a limit in seconds would end a machine that
 * is about to write its last output. CPU time grows only as far as the host allows, so it is the
 * measure: of a guest that comes up, and of a QEMU that writes the results of its plugins. Real
 * time counts only while nothing at all happens. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmds/vm/vm.h"

#define END_CPU_SECONDS 120 /* for a guest that reboots, and for plugins that write */
#define IDLE_SECONDS	300 /* without any CPU time: it hangs */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds of CPU time that a process has used; negative if there is none. */
static double cpu_seconds(pid_t pid)
{
	char path[64], buf[1024];
	unsigned long user, system;
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	buf[n] = '\0';
	p = strrchr(buf, ')'); /* the name before it may hold anything */
	if (!p ||
	    sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
		return -1;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

void vm_progress_begin(struct vm_progress *p, pid_t pid)
{
	*p = (struct vm_progress){.pid = pid, .moved = now()};
	p->start = p->cpu = cpu_seconds(pid);
}

void vm_progress_noted(struct vm_progress *p)
{
	p->moved = now();
}

bool vm_progress_over(struct vm_progress *p, double cpu_limit)
{
	double cpu = cpu_seconds(p->pid);

	if (cpu < 0)
		return false; /* it has ended; waitpid() will say how */
	if (cpu > p->cpu)
		p->moved = now();
	p->cpu = cpu;
	return cpu - p->start > cpu_limit || now() - p->moved > IDLE_SECONDS;
}

bool vm_ending_over(struct vm_progress *p)
{
	return vm_progress_over(p, END_CPU_SECONDS);
}

void vm_end_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/* True once QEMU was reaped (or was never ours). */
static bool gone(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

/* Waits for the end of QEMU as long as it is working. False: it is not, or the user has asked a
 * second time. */
static bool wait_gone(pid_t pid, void (*take)(void *with), void *with)
{
	const struct timespec tick = {.tv_nsec = 5 * 1000 * 1000};
	struct vm_progress p;
	sigset_t set;

	vm_end_signals(&set);
	vm_progress_begin(&p, pid);
	while (!gone(pid)) {
		if (take)
			take(with);
		if (sigtimedwait(&set, NULL, &tick) > 0 || vm_ending_over(&p))
			return false;
	}
	return true;
}

void vm_stop(struct vm_machine *m, void (*take)(void *with), void *with)
{
	/* SIGTERM lets QEMU's plugins write their results */
	if (m->pid > 0 && !gone(m->pid)) {
		kill(m->pid, SIGTERM);
		if (!wait_gone(m->pid, take, with)) {
			kill(m->pid, SIGKILL);
			waitpid(m->pid, NULL, 0);
		}
	}
	if (take)
		take(with); /* the last lines matter most */
	if (m->port >= 0)
		close(m->port);
	if (m->console >= 0)
		close(m->console);
	m->pid = m->port = m->console = -1;
}
