// SPDX-License-Identifier: BSD-2-Clause
/* Notice when a program enters a sandbox, and stop recording before a system call would kill it. */
#include "sandbox.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>

#include "become.h"
#include "region.h"
#include "ring.h"
#include "system.h"

#define EXPORT	  __attribute__((visibility("default")))
#define MOST_CODE 4096u /* instructions: more the kernel does not take */

void *mz_real_prctl, *mz_real_syscall;

/* May these bytes be read? */
static bool is_readable(uintptr_t at, size_t size)
{
	for (uintptr_t page = at & ~(uintptr_t)7; page < at + size;
	     page = (page & ~(uintptr_t)4095) + 4096)
		if (!mz_readable(page))
			return false;
	return true;
}

bool mz_peek(const void *from, void *to, size_t size)
{
	bool good = size < UINTPTR_MAX - (uintptr_t)from && is_readable((uintptr_t)from, size);

	if (good)
		memcpy(to, from, size);
	return good;
}

/* If the filter cannot be read, the kernel will refuse the call, and nothing changes. */
static bool is_harmless(const void *program)
{
	static struct sock_filter code[MOST_CODE];
	static uint32_t busy;
	struct sock_fprog p;
	uint32_t free_to_use = 0;
	bool ok;

	if (!mz_peek(program, &p, sizeof(p)) || !p.len || p.len > MOST_CODE)
		return true;
	if (!__atomic_compare_exchange_n(&busy, &free_to_use, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	ok = !mz_peek(p.filter, code, p.len * sizeof(*code)) || mz_filter_allows(code, p.len);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return ok;
}

/* Threads that wait for the recorder call futex() once more when they wake. */
static void wait_for_waiters(void)
{
	struct timespec moment = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < 500 && __atomic_load_n(&mz_waiting, __ATOMIC_ACQUIRE); i++)
		mz_system(SYS_nanosleep, (const long[6]){(long)&moment});
}

/* The call itself, after recording has ended if the call requires that. */
static long enter(long nr, const long a[6], bool harmless)
{
	uint32_t before = *mz_alive;
	bool was = mz_sandboxed;
	long ret;

	if (harmless || was)
		return mz_system(nr, a);
	mz_sandboxed = true;
	if (before >= MZ_ALIVE_ON) {
		mz_leave(MZ_LEFT_SECCOMP);
		wait_for_waiters();
	}
	ret = mz_system(nr, a);
	if (ret >= 0)
		return ret;
	mz_sandboxed = false;
	if (before >= MZ_ALIVE_ON)
		mz_come_back(before);
	return ret;
}

static long see_prctl(const long a[6])
{
	if (a[0] != PR_SET_SECCOMP)
		return mz_system(SYS_prctl, a);
	return enter(SYS_prctl, a, a[1] == SECCOMP_MODE_FILTER && is_harmless((void *)a[2]));
}

static long see_seccomp(const long a[6])
{
	if (a[0] != SECCOMP_SET_MODE_STRICT && a[0] != SECCOMP_SET_MODE_FILTER)
		return mz_system(SYS_seccomp, a);
	return enter(SYS_seccomp, a, a[0] == SECCOMP_SET_MODE_FILTER && is_harmless((void *)a[2]));
}

int mz_see_prctl(int option, ...)
{
	long a[6] = {option};
	va_list ap;

	va_start(ap, option);
	for (unsigned i = 1; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return (int)see_prctl(a);
}

long mz_see_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (__builtin_expect(nr == SYS_prctl, 0))
		return see_prctl(a);
	if (__builtin_expect(nr == SYS_seccomp, 0))
		return see_seccomp(a);
	if (__builtin_expect(nr == SYS_execve || nr == SYS_execveat, 0))
		return mz_see_exec(nr, a, mz_system);
	mz_see_apart(nr, a);
	return mz_system(nr, a);
}

#ifdef __x86_64__
EXPORT int prctl(int option, ...) __attribute__((alias("mz_see_prctl")));
EXPORT long syscall(long nr, ...) __attribute__((alias("mz_see_syscall")));
#endif
