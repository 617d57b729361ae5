/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of what a test tries fails once, or each system call of a kind. The linker sends
 * the library's calls to the functions here (tests/tests.mk). */
#ifndef MZ_TESTS_FAULTS_H
#define MZ_TESTS_FAULTS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/test.h"

/* ---- the allocator that fails ------------------------------------------- */

static long calls;   /* allocations so far */
static long fail_at; /* the one that fails; 0 = none */
static long held;    /* blocks that were not freed */
static bool has_failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

static bool fails(void)
{
	if (++calls != fail_at)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

static void *hold(void *p)
{
	held += p != NULL;
	return p;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : hold(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : hold(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	void *q;

	if (fails())
		return NULL;
	q = __real_realloc(p, n);
	held += !p && q;
	return q;
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : hold(__real_strdup(s));
}

void __wrap_free(void *p)
{
	held -= p != NULL;
	__real_free(p);
}

/* ---- system calls that fail --------------------------------------------- */

enum io_call { IO_NONE, IO_FSYNC, IO_CLOSE, IO_WRITEV, IO_RENAME };

static enum io_call io_which; /* calls of this kind are counted */
static long io_count, io_fail_at;
static int io_code; /* of the failure; 0 = EIO */

int __real_fsync(int fd);
int __real_close(int fd);
ssize_t __real_writev(int fd, const struct iovec *iov, int n);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
ssize_t __wrap_writev(int fd, const struct iovec *iov, int n);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);

static bool io_fails(enum io_call which)
{
	if (which != io_which || ++io_count != io_fail_at)
		return false;
	has_failed = true;
	errno = io_code ? io_code : EIO;
	return true;
}

int __wrap_fsync(int fd)
{
	return io_fails(IO_FSYNC) ? -1 : __real_fsync(fd);
}

/* A close that fails has closed all the same. */
int __wrap_close(int fd)
{
	int ret = __real_close(fd);

	return io_fails(IO_CLOSE) ? -1 : ret;
}

ssize_t __wrap_writev(int fd, const struct iovec *iov, int n)
{
	return io_fails(IO_WRITEV) ? -1 : __real_writev(fd, iov, n);
}

int __wrap_rename(const char *from, const char *to)
{
	return io_fails(IO_RENAME) ? -1 : __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return io_fails(IO_RENAME) ? -1 : __real_renameat2(from_dir, from, to_dir, to, flags);
}

/* ---- what is tried, with each of them failing ------------------------------ */

static char out_path[64]; /* must not be there after a failure */

static int attempt(int (*what)(void), long n)
{
	int ret;

	calls = 0;
	fail_at = n;
	has_failed = false;
	ret = what();
	fail_at = 0;
	return ret;
}

__attribute__((unused)) static void try_all(const char *name, int (*what)(void))
{
	long before = held, n;

	CHECK_EQ(attempt(what, 0), 0);
	CHECK_EQ(held, before);
	unlink(out_path);
	n = calls;
	CHECK(n > 0);
	for (long i = 1; i <= n; i++) {
		int ret = attempt(what, i);

		if (!has_failed || ret != -ENOMEM || held != before || !access(out_path, F_OK)) {
			printf("# %s: allocation %ld of %ld: returned %d, %ld blocks leaked%s\n",
			       name, i, n, ret, held - before,
			       has_failed ? "" : ", did not happen");
			test_failed = true;
			held = before;
			unlink(out_path);
		}
	}
}

#endif
