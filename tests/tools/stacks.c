// SPDX-License-Identifier: BSD-2-Clause
/* Allocates below known callers, and prints the stacks by the C library's own
 * unwinder: SIZE IP IP ..., without the innermost frame. */
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

static __attribute__((noinline)) void leaf(size_t size)
{
	void *ips[100];
	int n;

	sink = malloc(size);
	n = backtrace(ips, 100);
	printf("%zu", size);
	for (int i = 1; i < n; i++)
		printf(" %lx", (unsigned long)(uintptr_t)ips[i]);
	printf("\n");
	free(sink);
}

static __attribute__((noinline)) void deeper(size_t size, int depth)
{
	/* frames of different sizes, on the stack for real */
	volatile char *room = __builtin_alloca(17 + 8 * (size_t)(depth % 5));

	room[0] = (char)depth;
	if (depth)
		deeper(size, depth - 1);
	else
		leaf(size);
	room[1] = room[0];
}

static int compare(const void *a, const void *b)
{
	static int once;

	if (!once++)
		deeper(70003, 2);
	return *(const char *)a - *(const char *)b;
}

int main(void)
{
	char letters[] = "memorizer";
	void *first[1];

	backtrace(first, 1); /* it loads a library the first time */
	setvbuf(stdout, NULL, _IOFBF, 65536);
	deeper(70001, 0);
	deeper(70002, 20);
	/* through a function of the C library */
	qsort(letters, sizeof(letters) - 1, 1, compare);
	return 0;
}
