// SPDX-License-Identifier: BSD-2-Clause
/* Allocates below known callers, and prints the stacks by the C library's own
 * unwinder: SIZE IP IP ..., without the innermost frame.
 *   stacks [many] */
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

/* Many stacks that have frames in common: functions call each other at random, from several
 * places, with frames of fixed and of variable size. */
static uint64_t seed = 1;
static unsigned made;

static unsigned choose(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void any(unsigned depth);

static __attribute__((noinline)) void two_calls(unsigned depth)
{
	if (choose(2))
		any(depth - 1);
	else
		any(depth - 1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void variable_frame(unsigned depth)
{
	volatile char *room = __builtin_alloca(16 + 16 * choose(3));

	room[0] = 1;
	any(depth - 1);
	room[1] = room[0];
}

static __attribute__((noinline)) void large_frame(unsigned depth)
{
	volatile char room[200];

	room[0] = 1;
	for (unsigned i = choose(3); i < 3; i++)
		any(depth - 1);
	room[1] = room[0];
}

static __attribute__((noinline)) void any(unsigned depth)
{
	if (!depth)
		leaf(71000 + made++);
	else if (choose(3) == 0)
		two_calls(depth);
	else if (choose(2))
		variable_frame(depth);
	else
		large_frame(depth);
	__asm__ volatile("");
}

int main(int argc, char *argv[])
{
	char letters[] = "memorizer";
	void *first[1];

	(void)argv;
	backtrace(first, 1); /* it loads a library the first time */
	setvbuf(stdout, NULL, _IOFBF, 65536);
	deeper(70001, 0);
	deeper(70002, 20);
	/* through a function of the C library */
	qsort(letters, sizeof(letters) - 1, 1, compare);
	while (argc > 1 && made < 500)
		any(3 + choose(6));
	return 0;
}
