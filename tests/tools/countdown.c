// SPDX-License-Identifier: BSD-2-Clause
/* countdown N [kill|abort|segv|pause|stop|stop-half|stop-grow]: makes N allocations of 77
 * bytes and as many frees, in one thread, and then ends as it is told to. stop
 * stops its parent, the recorder, before the first one; stop-half lets it go on
 * when half of them are made, and stop-grow as well, which also makes N reallocs. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	const char *how = argc > 2 ? argv[2] : "";

	if (!strncmp(how, "stop", 4))
		kill(getppid(), SIGSTOP);
	for (long i = 0; i < n; i++) {
		void *p = malloc(77);

		if (i == n / 2 && !strncmp(how, "stop-", 5))
			kill(getppid(), SIGCONT);
		__asm__ volatile("" : "+r"(p) : : "memory");
		if (!strcmp(how, "stop-grow"))
			p = realloc(p, 177);
		free(p);
	}
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	else if (!strcmp(how, "pause"))
		pause();
	return 0;
}
