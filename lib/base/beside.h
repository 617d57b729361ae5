/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that works beside the one that reads or writes. */
#ifndef MZ_BASE_BESIDE_H
#define MZ_BASE_BESIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct mz_error;

struct mz_beside {
	pthread_t thread;
	pid_t process; /* that has it: a fork() copies no threads */
	bool running;
	bool done; /* the work is done, and the thread will soon end */
	void *(*work)(void *arg);
	void *arg;
};

/* Does this process have a second processor? */
bool mz_beside_possible(void);
/* False: no thread could be started, and the caller does the work. */
bool mz_beside_start(struct mz_beside *b, void *(*work)(void *arg), void *arg);
/* Is it still at work? */
bool mz_beside_busy(const struct mz_beside *b);
/* Was this process forked while the thread was at work? Then it has no such thread; what the thread
 * shared with the caller may be locked or half made, and must not be touched. */
bool mz_beside_forked(const struct mz_beside *b);
int mz_beside_fail_forked(struct mz_error *err);
/* Until it is done; returns at once if nothing runs. */
void mz_beside_wait(struct mz_beside *b);

#endif
