// SPDX-License-Identifier: BSD-2-Clause
/*
 * The recorder against regions of random content, in one process: regions COUNT SEED.
 * Prints how many there were, the longest that one took, and the peak of memory. The
 * same as tests/fuzz/region_fuzz.c, without a fuzzer: a broken promise is an abort.
 */
#include <sys/resource.h>

#include "../fuzz/region_fuzz.c"

static uint64_t state;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A program that is there, with a ring, and then anything. */
static size_t make(uint8_t *data, size_t most)
{
	static const uint8_t begin[] = {0, 0, 0, 0, 1, 0, 0, 1, 0};
	size_t n = next() % most;

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(next() >> 16);
	if (n > sizeof(begin) && next() % 8)
		memcpy(data, begin, sizeof(begin));
	return n;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	double longest = 0;
	struct rusage u;
	uint8_t data[1024];

	state = 88172645463325252ull + (argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
	for (unsigned long i = 0; i < count; i++) {
		double start = seconds(), took;

		LLVMFuzzerTestOneInput(data, make(data, i % 16 ? 200 : sizeof(data)));
		took = seconds() - start;
		longest = took > longest ? took : longest;
	}
	getrusage(RUSAGE_SELF, &u);
	printf("%lu regions, the longest took %.3f s, peak %ld MiB\n", count, longest,
	       u.ru_maxrss / 1024);
	return longest > 2 || u.ru_maxrss > 256 * 1024;
}
