// SPDX-License-Identifier: BSD-2-Clause
/* Notice when a program creates or enters namespaces or changes its root, and keep access to the
 * region. */
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "region.h"
#include "ring.h"
#include "sandbox.h"
#include "scope.h"

#define EXPORT __attribute__((visibility("default")))

#define APART (CLONE_NEWNS | CLONE_NEWPID)

/* Is there a recorder that can record a program in the container? */
static void keep(void)
{
	if (mz_region && !mz_sandboxed && !mz_recorder_died())
		mz_region_keep();
}

static uint64_t flags_of(const void *clone3_args)
{
	uint64_t flags = 0;

	return mz_peek(clone3_args, &flags, sizeof(flags)) ? flags : 0;
}

void mz_see_apart(long nr, const long a[6])
{
	switch (nr) {
	case SYS_clone:
	case SYS_unshare:
		if (a[0] & APART)
			keep();
		break;
	case SYS_clone3:
		if (flags_of((const void *)a[0]) & APART)
			keep();
		break;
	case SYS_setns: /* whichever namespace the descriptor refers to */
	case SYS_chroot:
	case SYS_pivot_root: keep(); break;
	default: break;
	}
}

#ifdef __x86_64__
EXPORT int unshare(int flags)
{
	return (int)mz_see_syscall(SYS_unshare, (long)flags);
}

EXPORT int setns(int fd, int type)
{
	return (int)mz_see_syscall(SYS_setns, (long)fd, (long)type);
}

EXPORT int chroot(const char *path)
{
	return (int)mz_see_syscall(SYS_chroot, path);
}

/* The child begins in a function and on a stack of its own, so only the C library's function
 * will do. Of the last three arguments, it never reads those that the flags do not select. */
EXPORT int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	static int (*real)(int (*)(void *), void *, int, void *, ...);
	void *parent_tid, *tls, *child_tid;
	bool own;
	va_list ap;

	va_start(ap, arg);
	parent_tid = va_arg(ap, void *);
	tls = va_arg(ap, void *);
	child_tid = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		*(void **)&real = mz_definition("clone", &own);
	if (flags & APART)
		keep();
	return real(fn, stack, flags, arg, parent_tid, tls, child_tid);
}
#endif
