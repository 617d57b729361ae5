// SPDX-License-Identifier: BSD-2-Clause
/* Serve requests of 50 allocations and frees at a rate; tell how many events that were
 * and how long the longest request took, in ms: requests SECONDS RATE. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Stacks of a few depths. */
static __attribute__((noinline)) void *deep(unsigned depth, size_t size)
{
	void *p = depth ? deep(depth - 1, size) : malloc(size);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

static void serve(unsigned *seed)
{
	void *p[50];

	for (int i = 0; i < 50; i++) {
		*seed = *seed * 1103515245u + 12345u;
		p[i] = deep((*seed >> 16) % 12, 16 + (*seed >> 20) % 200);
	}
	for (int i = 0; i < 50; i++)
		free(p[i]);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, rate = argc > 2 ? atof(argv[2]) : 30000;
	double start = now(), longest = 0, begun = start;
	unsigned long served = 0;
	unsigned seed = 1;
	char line[80];

	while (begun - start < seconds) {
		double took;

		serve(&seed);
		took = now() - begun;
		longest = took > longest ? took : longest;
		served++;
		while ((begun = now()) < start + (double)served / rate)
			;
	}
	snprintf(line, sizeof(line), "%lu %.1f", served * 100, longest * 1e3);
	return puts(line) < 0;
}
