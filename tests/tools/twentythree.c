// SPDX-License-Identifier: BSD-2-Clause
/* Makes 23 calls of every kind that allocates, between two marks, and frees all:
 * what a recorder must show. With an argument: in that many threads. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tools/keep.h"

#define N 23

void memorizer_mark(const char *text) __attribute__((weak));

/* The end of the heap, there and back by each of the two calls. */
static void move_end(void)
{
	char *end = sbrk(4096);

	if (brk(end) || brk(end + 4096) || sbrk(-4096) != end + 4096)
		abort();
}

static void one_round(size_t i)
{
	void *p[9];

	p[0] = keep(malloc(i + 1));
	p[1] = keep(calloc(i + 1, 3));
	p[2] = keep(realloc(keep(NULL), i + 10));
	p[2] = keep(realloc(p[2], 100000 + i));
	p[3] = keep(reallocarray(keep(NULL), i + 1, 7));
	p[4] = keep(aligned_alloc(64, 64 * (i + 1)));
	p[5] = keep(memalign(128, i + 1));
	p[6] = keep(posix(256, i + 1));
	p[7] = keep(valloc(i + 1));
	p[8] = keep(pvalloc(i + 1));
	for (size_t k = 0; k < 9; k++)
		free(p[k]);
	free(keep(NULL));
	move_end();
	munmap(mmap(NULL, 4096 * (i + 1), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	       4096 * (i + 1));
}

static void *work(void *arg)
{
	for (size_t i = 0; i < N; i++)
		one_round(i);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t;

	if (memorizer_mark)
		memorizer_mark("begin");
	if (!threads)
		work(NULL);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL))
			return 1;
	if (memorizer_mark)
		memorizer_mark("end");
	return 0;
}
