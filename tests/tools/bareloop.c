// SPDX-License-Identifier: BSD-2-Clause
/* The bare loop that a replay is measured against: the decoded events of a trace
 * of malloc, realloc and free in an array, and a loop that makes the calls.
 * Prints ns per event, the least of ROUNDS: bareloop TRACE ROUNDS */
#include <memorizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

struct bare_call {
	uint64_t size;
	uint32_t object, old;
	uint8_t kind;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t decode(const char *path, struct bare_call *calls, size_t max, uint32_t *objects)
{
	struct mz_reader *r = mz_reader_open(path, NULL);
	struct mz_event ev[512];
	size_t n = 0;
	long got;

	while (r && (got = mz_reader_read(r, ev, 512)) > 0)
		for (long i = 0; i < got && n < max; i++) {
			calls[n++] = (struct bare_call){ev[i].size, (uint32_t)ev[i].object,
							(uint32_t)ev[i].old_object, ev[i].kind};
			if (ev[i].kind != MZ_FREE && ev[i].object > *objects)
				*objects = (uint32_t)ev[i].object;
		}
	mz_reader_close(r);
	return n;
}

int main(int argc, char **argv)
{
	size_t max = 20000000, n;
	struct bare_call *calls = map(max * sizeof(*calls));
	uint32_t objects = 0;
	uint64_t best = UINT64_MAX;
	void **blocks;

	if (argc < 3 || !calls || !(n = decode(argv[1], calls, max, &objects)))
		return 1;
	blocks = map((objects + 1ul) * sizeof(*blocks));
	for (int round = 0; round < atoi(argv[2]) && blocks; round++) {
		uint64_t start = now();

		for (size_t i = 0; i < n; i++) {
			const struct bare_call *c = &calls[i];

			if (c->kind == MZ_ALLOC) {
				blocks[c->object] = malloc(c->size);
			} else if (c->kind == MZ_FREE) {
				free(blocks[c->object]);
				blocks[c->object] = NULL;
			} else {
				void *p = realloc(blocks[c->old], c->size);

				blocks[c->old] = NULL;
				blocks[c->object] = p;
			}
		}
		start = now() - start;
		best = start < best ? start : best;
		for (uint32_t i = 0; i <= objects; i++) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
	}
	printf("%.2f\n", (double)best / (double)n);
	return 0;
}
