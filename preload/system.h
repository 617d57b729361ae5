/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's own system calls. */
/*
 * A program may define functions with the names of the C library's (read, open and stat are not
 * reserved in ISO C), and its functions would then be called here, with arguments they do not
 * expect: the kernel is called directly.
 */
#ifndef MZ_PRELOAD_SYSTEM_H
#define MZ_PRELOAD_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As syscall(): -1 and errno if it fails. */
static inline long mz_system(long nr, const long a[6])
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
#else
	return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
#endif
}

/* Elsewhere the kernel's calls and structures may differ from those of the C library. */
#ifdef __x86_64__
#define MZ_SYSTEM(libc, nr, ...) mz_system(nr, (const long[6]){__VA_ARGS__})
#else
#define MZ_SYSTEM(libc, nr, ...) libc
#endif

static inline int mz_open(const char *path, int flags)
{
	return (int)MZ_SYSTEM(open(path, flags), SYS_openat, AT_FDCWD, (long)path, flags);
}

static inline ssize_t mz_read(int fd, void *to, size_t size)
{
	return MZ_SYSTEM(read(fd, to, size), SYS_read, fd, (long)to, (long)size);
}

static inline void mz_close(int fd)
{
	MZ_SYSTEM(close(fd), SYS_close, fd);
}

static inline int mz_fcntl(int fd, int what, long arg)
{
	return (int)MZ_SYSTEM(fcntl(fd, what, arg), SYS_fcntl, fd, what, arg);
}

static inline int mz_stat(const char *path, struct stat *st)
{
	return (int)MZ_SYSTEM(stat(path, st), SYS_newfstatat, AT_FDCWD, (long)path, (long)st);
}

static inline int mz_fstat(int fd, struct stat *st)
{
	return (int)MZ_SYSTEM(fstat(fd, st), SYS_newfstatat, fd, (long)"", (long)st, AT_EMPTY_PATH);
}

static inline ssize_t mz_readlink(const char *path, char *to, size_t size)
{
	return MZ_SYSTEM(readlink(path, to, size), SYS_readlink, (long)path, (long)to, (long)size);
}

static inline uint32_t mz_getpid(void)
{
	return (uint32_t)MZ_SYSTEM(getpid(), SYS_getpid, 0);
}

static inline uint32_t mz_gettid(void)
{
	return (uint32_t)mz_system(SYS_gettid, (const long[6]){0});
}

static inline int mz_madvise(void *p, size_t size, int advice)
{
	return (int)MZ_SYSTEM(madvise(p, size, advice), SYS_madvise, (long)p, (long)size, advice);
}

static inline int mz_mprotect(void *p, size_t size, int prot)
{
	return (int)MZ_SYSTEM(mprotect(p, size, prot), SYS_mprotect, (long)p, (long)size, prot);
}

static inline int mz_sigaltstack(stack_t *now)
{
	return (int)MZ_SYSTEM(sigaltstack(NULL, now), SYS_sigaltstack, 0, (long)now);
}

static inline int mz_thread_name(char name[16])
{
	return (int)MZ_SYSTEM(prctl(PR_GET_NAME, name), SYS_prctl, PR_GET_NAME, (long)name);
}

static inline int mz_memfd(const char *name, unsigned flags)
{
	return (int)mz_system(SYS_memfd_create, (const long[6]){(long)name, flags});
}

static inline int mz_ftruncate(int fd, off_t size)
{
	return (int)MZ_SYSTEM(ftruncate(fd, size), SYS_ftruncate, fd, size);
}

/* May the word at this address be read? The kernel answers without a fault: it copies a set of
 * signals before it refuses the request. Every program may make that call, unlike those that are
 * meant for this. */
static inline bool mz_readable(uintptr_t at)
{
	int saved = errno;
	bool can = mz_system(SYS_rt_sigprocmask,
			     (const long[6]){-1, (long)(at & ~(uintptr_t)7), 0, 8}) >= 0 ||
		   errno != EFAULT;

	errno = saved;
	return can;
}

/* The library's own mappings are not recorded as the program's. fd -1: anonymous. MAP_FAILED, with
 * errno, if it fails. */
static inline void *mz_own_map(void *at, size_t size, int prot, int flags, int fd)
{
	return (void *)mz_system(SYS_mmap, (const long[6]){(long)at, (long)size, prot, flags, fd});
}

static inline void mz_own_unmap(void *p, size_t size)
{
	mz_system(SYS_munmap, (const long[6]){(long)p, (long)size});
}

#endif
