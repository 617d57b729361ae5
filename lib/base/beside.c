// SPDX-License-Identifier: BSD-2-Clause
/* Start and join a thread that works beside the caller. */
#include "base/beside.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/error.h"

bool mz_beside_possible(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

static void *run(void *arg)
{
	struct mz_beside *b = arg;
	void *ret = b->work(b->arg);

	__atomic_store_n(&b->done, true, __ATOMIC_RELEASE);
	return ret;
}

bool mz_beside_start(struct mz_beside *b, void *(*work)(void *arg), void *arg)
{
	sigset_t all, before;

	b->work = work;
	b->arg = arg;
	b->done = false;
	b->process = getpid();
	/* signals are for the threads that wait for them */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	b->running = !pthread_create(&b->thread, NULL, run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return b->running;
}

bool mz_beside_busy(const struct mz_beside *b)
{
	return b->running && !__atomic_load_n(&b->done, __ATOMIC_ACQUIRE);
}

bool mz_beside_forked(const struct mz_beside *b)
{
	return mz_beside_busy(b) && b->process != getpid();
}

int mz_beside_fail_forked(struct mz_error *err)
{
	return mz_fail(err, EBADF,
		       "opened before this process was forked; open it again to read on");
}

void mz_beside_wait(struct mz_beside *b)
{
	if (b->running && b->process == getpid()) /* else the wait would never end */
		pthread_join(b->thread, NULL);
	b->running = false;
}
