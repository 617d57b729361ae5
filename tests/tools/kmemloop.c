// SPDX-License-Identifier: BSD-2-Clause
/*
 * The workload of the cost measurement: kmemloop CPU ROUNDS ITERATIONS. Calls
 * that do little but allocate and free in the kernel: writev() copies nine
 * vectors (kmalloc, kfree), access() takes a name (kmem_cache_alloc, its free).
 * So four events an iteration. Prints the ns of an iteration in the median
 * round, and the seconds of CPU of all rounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define VECTORS 9 /* one more than the kernel keeps on its stack */

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int cpu = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 10;
	int n = argc > 3 ? atoi(argv[3]) : 5000, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	double *took = calloc((size_t)rounds + 1, sizeof(*took)), used;
	struct iovec v[VECTORS];
	char byte = 0;
	cpu_set_t set;

	if (!took || null < 0)
		return 1;
	for (int i = 0; i < VECTORS; i++)
		v[i] = (struct iovec){&byte, 1};
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	used = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int r = 0; r < rounds; r++) {
		double from = now(CLOCK_MONOTONIC);

		for (int i = 0; i < n; i++)
			if (writev(null, v, VECTORS) != VECTORS || !access("", F_OK) ||
			    errno != ENOENT)
				return 1;
		took[r] = (now(CLOCK_MONOTONIC) - from) / n;
	}
	used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	qsort(took, (size_t)rounds, sizeof(*took), compare);
	printf("%.1f %.4f\n", took[rounds / 2], used / 1e9);
	return 0;
}
