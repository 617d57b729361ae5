// SPDX-License-Identifier: BSD-2-Clause
/*
 * An arena that reports its blocks, so that `memorizer record` sees each of them:
 *   cc pool.c && memorizer record -o t.cmt -- ./a.out && memorizer report t.cmt
 * Nothing is linked; without the recorder the calls do nothing. The program counts by
 * itself what it hands out, and prints the sums at its end.
 */
#include <memorizer/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

struct chunk {
	struct chunk *next;
	size_t used;
	char data[CHUNK];
};

struct arena {
	struct mz_pool pool;
	struct chunk *chunks;
	unsigned long blocks, bytes; /* handed out, ever */
	unsigned long live, peak;    /* bytes */
};

static void arena_init(struct arena *a, const char *name)
{
	memset(a, 0, sizeof(*a));
	mz_pool_create(&a->pool, name);
}

/* The memory that an arena is made of is its own: it is not counted twice. */
static struct chunk *new_chunk(struct arena *a)
{
	struct chunk *c;

	mz_pool_enter(&a->pool);
	c = (struct chunk *)malloc(sizeof(*c));
	mz_pool_leave(&a->pool);
	if (!c)
		abort();
	c->next = a->chunks;
	c->used = 0;
	a->chunks = c;
	return c;
}

static void *arena_alloc(struct arena *a, size_t size)
{
	size_t room = (size + 15) & ~(size_t)15;
	struct chunk *c = a->chunks;
	void *p;

	if (!c || c->used + room > CHUNK)
		c = new_chunk(a);
	p = c->data + c->used;
	c->used += room;
	a->blocks++;
	a->bytes += size;
	a->live += size;
	if (a->live > a->peak)
		a->peak = a->live;
	mz_pool_alloc(&a->pool, p, size);
	return p;
}

/* All blocks go; one chunk stays for the next round. */
static void arena_reset(struct arena *a)
{
	mz_pool_reset(&a->pool);
	mz_pool_enter(&a->pool);
	while (a->chunks && a->chunks->next) {
		struct chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	mz_pool_leave(&a->pool);
	if (a->chunks)
		a->chunks->used = 0;
	a->live = 0;
}

static void arena_destroy(struct arena *a)
{
	mz_pool_destroy(&a->pool);
	mz_pool_enter(&a->pool);
	while (a->chunks) {
		struct chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	mz_pool_leave(&a->pool);
}

static void report(const struct arena *a, const char *name)
{
	printf("%s: %lu blocks, %lu bytes, peak %lu, live %lu\n", name, a->blocks, a->bytes,
	       a->peak, a->live);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	struct arena words, kept;

	arena_init(&words, "words");
	arena_init(&kept, "kept");
	for (unsigned long i = 0; i < rounds; i++) {
		for (unsigned long k = 1; k <= 1000; k++)
			memset(arena_alloc(&words, k % 200 + 1), 'w', k % 200 + 1);
		memset(arena_alloc(&kept, 4096), 'k', 4096);
		arena_reset(&words);
	}
	report(&words, "words");
	report(&kept, "kept");
	arena_destroy(&words);
	return 0;
}
