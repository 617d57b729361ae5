// SPDX-License-Identifier: BSD-2-Clause
/*
 * An allocation storm: threads that exchange blocks with each other, so that
 * most blocks are freed by another thread than the one that made them.
 *   storm THREADS ROUNDS [short]
 * short: each thread makes 100 rounds and is replaced by a new one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 1024

static void *_Atomic places[PLACES];

struct storm_job {
	uint64_t seed;
	uint64_t rounds;
};

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void *work(void *arg)
{
	struct storm_job *j = arg;

	for (uint64_t i = 0; i < j->rounds; i++) {
		uint64_t r = next(&j->seed);
		size_t size = 10 + (r >> 20) % 490;
		void *p = atomic_exchange(&places[r % PLACES], NULL);

		if (p && (r >> 40) % 8 == 0)
			p = realloc(p, size);
		else
			free(p), p = malloc(size);
		if (!p)
			abort();
		*(char *)p = 1;
		free(atomic_exchange(&places[(r >> 10) % PLACES], p));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) : 4;
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
	bool short_lived = argc > 3 && !strcmp(argv[3], "short");
	unsigned waves = short_lived ? (unsigned)(rounds / 100) : 1;
	static struct storm_job jobs[256];
	pthread_t ids[256];

	if (!threads || threads > 256)
		return 2;
	for (unsigned w = 0; w < waves; w++) {
		for (unsigned i = 0; i < threads; i++) {
			jobs[i] = (struct storm_job){0x9e3779b97f4a7c15u * (w * threads + i + 1),
						     short_lived ? 100 : rounds};
			if (pthread_create(&ids[i], NULL, work, &jobs[i]))
				return 1;
		}
		for (unsigned i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
	}
	for (unsigned i = 0; i < PLACES; i++)
		free(places[i]);
	return 0;
}
