// SPDX-License-Identifier: BSD-2-Clause
/* Tell the recorder that a program calls exec: its end would look the same otherwise. */
#include "become.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.h"
#include "sandbox.h"
#include "scope.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
} real;

static void find(void *call, const char *name)
{
	bool own;

	*(void **)call = mz_definition(name, &own);
}

/* Looked up in advance: a child of a program with threads may not be able to do so. */
void mz_become_find(void)
{
	find(&real.execve, "execve");
	find(&real.execv, "execv");
	find(&real.execvp, "execvp");
	find(&real.execvpe, "execvpe");
	find(&real.fexecve, "fexecve");
}

static bool begins(void)
{
	int saved = errno;
	bool told = mz_tell_exec(true);

	/* the constructor of another library may call exec before ours has run */
	if (!real.execve)
		mz_become_find();

	errno = saved;
	return told;
}

/* exec has returned, so it failed. */
static int failed(bool told)
{
	int saved = errno;

	if (told)
		mz_tell_exec(false);
	errno = saved;
	return -1;
}

static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

long mz_see_exec(long nr, const long a[6], mz_raw_call *raw)
{
	bool told = begins();

	raw(nr, a);
	return failed(told);
}

EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
	bool told = begins();

	real.execve(path, argv, environment);
	return failed(told);
}

EXPORT int execv(const char *path, char *const argv[])
{
	bool told = begins();

	real.execv(path, argv);
	return failed(told);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	bool told = begins();

	real.execvp(file, argv);
	return failed(told);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
	bool told;

	if (!real.execvpe)
		return missing();
	told = begins();
	real.execvpe(file, argv, environment);
	return failed(told);
}

EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
{
	bool told;

	if (!real.fexecve)
		return missing();
	told = begins();
	real.fexecve(fd, argv, environment);
	return failed(told);
}

/* ---- those with a list of arguments -------------------------------------------------- */

/* Its length, with the first one and the NULL. */
static size_t length_of(va_list list)
{
	size_t n = 2;

	while (va_arg(list, char *))
		n++;
	return n;
}

static void fill(char **argv, const char *first, size_t n, va_list *list)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(*list, char *);
}

/* The list as an array, on the stack as in the C library: there may be no heap. */
#define TAKE_LIST(list, first, argv)                                                               \
	do {                                                                                       \
		size_t n;                                                                          \
                                                                                                   \
		va_start(list, first);                                                             \
		n = length_of(list);                                                               \
		va_end(list);                                                                      \
		argv = __builtin_alloca(n * sizeof(*argv));                                        \
		va_start(list, first);                                                             \
		fill(argv, first, n, &list);                                                       \
	} while (0)

/* `call` is followed by the arguments that come after the array. */
#define EXEC_LIST(name, call, ...)                                                                 \
	EXPORT int name(const char *path, const char *first, ...)                                  \
	{                                                                                          \
		bool told = begins();                                                              \
		va_list list;                                                                      \
		char **argv;                                                                       \
                                                                                                   \
		TAKE_LIST(list, first, argv);                                                      \
		call(path, argv, ##__VA_ARGS__);                                                   \
		va_end(list);                                                                      \
		return failed(told);                                                               \
	}

EXEC_LIST(execl, real.execv)
EXEC_LIST(execlp, real.execvp)
/* the environment follows the list */
EXEC_LIST(execle, real.execve, va_arg(list, char **))

#ifdef __x86_64__
EXPORT int execveat(int fd, const char *path, char *const argv[], char *const environment[],
		    int flags)
{
	return (int)mz_see_syscall(SYS_execveat, (long)fd, path, argv, environment, (long)flags);
}
#endif
