// SPDX-License-Identifier: BSD-2-Clause
/* For LD_PRELOAD: the FAIL_AT-th allocation of the program fails. With
 * FAIL_COUNT=FILE the number of allocations is written there at the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static long calls, fail_at = -1;

static int fails(void)
{
	if (fail_at < 0) {
		const char *at = getenv("FAIL_AT");

		fail_at = at ? atol(at) : 0;
	}
	if (++calls != fail_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("FAIL_COUNT");
	long n = calls;
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fprintf(f, "%ld\n", n);
		fclose(f);
	}
}
