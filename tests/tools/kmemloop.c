// SPDX-License-Identifier: BSD-2-Clause
/* The workload of the cost measurement: kmemloop ROUNDS ITERATIONS. Opens and
 * closes a file, six events of the kernel an iteration, and prints the ns of an
 * iteration in the median round. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, n = argc > 2 ? atoi(argv[2]) : 5000;
	double *took = calloc((size_t)rounds + 1, sizeof(*took));
	cpu_set_t set;

	if (!took)
		return 1;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int r = 0; r < rounds; r++) {
		double from = now();

		for (int i = 0; i < n; i++) {
			int fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC);

			if (fd < 0 || close(fd))
				return 1;
		}
		took[r] = (now() - from) / n;
	}
	qsort(took, (size_t)rounds, sizeof(*took), compare);
	printf("%.1f\n", took[rounds / 2]);
	return 0;
}
