/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included before everything else: whatever looks at a clock, takes a lock, or
 * reads what another thread writes, may stand still before it and after it.
 */
#ifndef MZ_TESTS_PAUSES_H
#define MZ_TESTS_PAUSES_H

#include <pthread.h>
#include <time.h>

void pause_here(void);

static inline int paused_clock(clockid_t id, struct timespec *t)
{
	int ret;

	pause_here();
	ret = clock_gettime(id, t);
	pause_here();
	return ret;
}

static inline int paused_lock(pthread_mutex_t *m)
{
	pause_here();
	return pthread_mutex_lock(m);
}

#define clock_gettime(id, t)  paused_clock(id, t)
#define pthread_mutex_lock(m) paused_lock(m)
#define __atomic_load_n(p, o) (pause_here(), __atomic_load_n(p, o))

#endif
