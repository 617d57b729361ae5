// SPDX-License-Identifier: BSD-2-Clause
/*
 * pools THREADS ROUNDS: each thread has a pool of small blocks, all of one name, made of
 * one malloc. Half of the blocks come back one by one, the rest by a reset; one in sixteen
 * is freed by the main thread. Then a child goes on with a pool of its parent. Each of the
 * two prints: blocks handed out, bytes, frees told, blocks ended by resets, blocks live.
 */
#include <memorizer/pool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 1000
#define SIZE   48

struct pool_worker {
	struct mz_pool pool;
	char *memory;
	unsigned long rounds;
	unsigned long blocks, bytes, frees, resets;
	char *late[BLOCKS]; /* of the last round: freed by the main thread */
	unsigned n_late;
};

static void fill(struct pool_worker *w, int last)
{
	unsigned long live = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		char *p = w->memory + (size_t)i * SIZE;
		size_t size = i % SIZE + 1;

		mz_pool_alloc(&w->pool, p, size);
		w->blocks++;
		w->bytes += size;
		live++;
		if (last && i % 16 == 0) {
			w->late[w->n_late++] = p;
		} else if (i % 2) {
			mz_pool_free(&w->pool, p);
			w->frees++;
			live--;
		}
	}
	if (last)
		return;
	mz_pool_reset(&w->pool);
	w->resets += live;
}

static void *work(void *arg)
{
	struct pool_worker *w = arg;

	mz_pool_create(&w->pool, "worker");
	mz_pool_enter(&w->pool);
	w->memory = malloc(BLOCKS * SIZE);
	mz_pool_leave(&w->pool);
	if (!w->memory)
		abort();
	for (unsigned long i = 0; i < w->rounds; i++)
		fill(w, i + 1 == w->rounds);
	return NULL;
}

static void print(const char *who, const struct pool_worker *w)
{
	printf("%s %lu %lu %lu %lu %lu\n", who, w->blocks, w->bytes, w->frees, w->resets,
	       w->blocks - w->frees - w->resets);
	fflush(stdout);
}

/* In the child all blocks of before are unknown: it hands out new ones. */
static void child(struct pool_worker *w)
{
	struct pool_worker c = {.pool = w->pool, .memory = w->memory};

	fill(&c, 0);
	fill(&c, 1);
	print("child", &c);
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	struct pool_worker *w = calloc(n, sizeof(*w)), all = {.blocks = 0};
	pthread_t *threads = calloc(n, sizeof(*threads));

	for (unsigned i = 0; i < n; i++) {
		w[i].rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
		pthread_create(&threads[i], NULL, work, &w[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		for (unsigned k = 0; k < w[i].n_late; k++)
			mz_pool_free(&w[i].pool, w[i].late[k]);
		w[i].frees += w[i].n_late;
		all.blocks += w[i].blocks;
		all.bytes += w[i].bytes;
		all.frees += w[i].frees;
		all.resets += w[i].resets;
	}
	print("parent", &all);
	if (!fork())
		child(&w[0]);
	wait(NULL);
	return 0;
}
