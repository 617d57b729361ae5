// SPDX-License-Identifier: BSD-2-Clause
/* A signal handler that makes more calls than a ring has room for, wherever it
 * comes in. The calls are free(NULL), which may be made anywhere: handler TIMES.
 * Prints how many were made. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define IN_HANDLER 100000

static volatile sig_atomic_t left;
static void *volatile none; /* the compiler knows what free(NULL) does */

static void next_alarm(void)
{
	struct itimerval t = {.it_value.tv_usec = 500 + 37 * left};

	setitimer(ITIMER_REAL, &t, NULL);
}

static void on_alarm(int sig)
{
	(void)sig;
	for (int i = 0; i < IN_HANDLER; i++)
		free(none);
	if (--left > 0)
		next_alarm();
}

int main(int argc, char **argv)
{
	unsigned long mine = 0;
	int times = left = argc > 1 ? atoi(argv[1]) : 20;

	signal(SIGALRM, on_alarm);
	next_alarm();
	for (; left > 0; mine++)
		free(none);
	printf("%lu\n", mine + (unsigned long)times * IN_HANDLER);
	return 0;
}
