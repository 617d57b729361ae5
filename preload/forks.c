// SPDX-License-Identifier: BSD-2-Clause
/* Count the processes that a program forks and that are not recorded. */
#include "join.h"
#include "region.h"
#include "ring.h"
#include "system.h"

/* The GNU C library's is in no shared object; musl has only the other one. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object) __attribute__((weak));
extern int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
	__attribute__((weak));

static bool counted;	     /* this process, by its parent */
static uint32_t counted_pid; /* the process that counts until it calls exec; 0 = none */

static bool counts(void)
{
	return mz_region && !mz_region->stop && !(mz_region->flags & MZ_REGION_FORKS);
}

static void add(int32_t n)
{
	__atomic_fetch_add(&mz_region->forked, (uint32_t)n, __ATOMIC_RELAXED);
}

/* In the parent, because the recorder may end with it: the child of a daemon lives longer. */
static void in_parent(void)
{
	if (counts())
		add(1);
}

static void in_child(void)
{
	counted = true;
	counted_pid = mz_sandboxed ? 0 : mz_getpid();
}

void mz_see_forks(void)
{
	static bool seen;

	if (seen || (mz_region->flags & MZ_REGION_FORKS))
		return;
	seen = true;
	if (__register_atfork)
		__register_atfork(NULL, in_parent, in_child, NULL);
	else if (pthread_atfork)
		pthread_atfork(NULL, in_parent, in_child);
}

void mz_count_child(uint32_t pid)
{
	if (counted || !counts())
		return;
	add(1);
	counted = true;
	counted_pid = pid;
}

/* What it becomes is counted as a program. */
bool mz_fork_execs(bool begins)
{
	if (!counted_pid || !counts() || mz_sandboxed || mz_getpid() != counted_pid)
		return false;
	add(begins ? -1 : 1);
	return true;
}
