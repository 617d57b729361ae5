// SPDX-License-Identifier: BSD-2-Clause
/* Start and join a thread that works beside the caller. */
#include "base/beside.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>

bool mz_beside_possible(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

bool mz_beside_start(struct mz_beside *b, void *(*work)(void *arg), void *arg)
{
	sigset_t all, before;

	/* signals are for the threads that wait for them */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	b->running = !pthread_create(&b->thread, NULL, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return b->running;
}

void mz_beside_wait(struct mz_beside *b)
{
	if (b->running)
		pthread_join(b->thread, NULL);
	b->running = false;
}
