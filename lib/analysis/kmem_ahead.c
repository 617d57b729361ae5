// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kmem_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 8

struct kmem_ahead {
	struct mz_reader *r;
	uint32_t sites, caches; /* of the file, told so far */
	pthread_t thread;
	bool stacks;
	bool threaded, stop, waits; /* the reader waits for a batch */
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint64_t made, taken; /* batches; the one before taken is in use */
	struct kmem_batch batch[BATCHES];
};

/* ---- one batch ------------------------------------------------------------ */

static void forget(struct kmem_batch *b)
{
	for (uint32_t i = 0; i < b->ncaches; i++)
		free(b->caches[i]);
	b->ncaches = b->nsites = b->nstacks = 0;
}

/* Room for n of size bytes each. */
static int room(void **p, uint32_t *cap, uint32_t n, size_t size)
{
	void *q;

	if (n <= *cap)
		return 0;
	q = realloc(*p, (size_t)n * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = n;
	return 0;
}

/* Twice the room each time: stacks are added one by one. */
static int add_stack(struct kmem_batch *b, const uint64_t *ips, size_t depth)
{
	uint32_t need = b->nstacks + 1 + (uint32_t)depth;

	if (need > b->cap_stacks &&
	    room((void **)&b->stacks, &b->cap_stacks, 2 * need, sizeof(*b->stacks)) < 0)
		return -ENOMEM;
	b->stacks[b->nstacks++] = depth;
	for (size_t i = 0; i < depth; i++)
		b->stacks[b->nstacks++] = ips[i];
	return 0;
}

/* What the tables have got since the last batch. */
static int tell_new(struct kmem_ahead *a, struct kmem_batch *b)
{
	const struct mz_tables *t = mz_reader_tables(a->r);
	uint32_t sites = mz_tables_stacks(t), caches = mz_tables_strings(t);

	if (room((void **)&b->sites, &b->cap_sites, sites - a->sites, sizeof(*b->sites)) < 0 ||
	    room((void **)&b->caches, &b->cap_caches, caches - a->caches, sizeof(*b->caches)) < 0)
		return -ENOMEM;
	while (a->sites < sites) {
		size_t depth = 0;
		const uint64_t *ips = mz_tables_get_stack(t, ++a->sites, &depth);

		b->sites[b->nsites++] = ips && depth ? ips[0] : 0;
		if (a->stacks && add_stack(b, ips, ips ? depth : 0) < 0)
			return -ENOMEM;
	}
	while (a->caches < caches) {
		size_t len = 0;
		const char *name = mz_tables_get_string(t, a->caches + 1, &len);

		b->caches[b->ncaches] = strndup(name ? name : "", len);
		if (!b->caches[b->ncaches])
			return -ENOMEM;
		b->ncaches++;
		a->caches++;
	}
	return 0;
}

static void make(struct kmem_ahead *a, struct kmem_batch *b)
{
	forget(b);
	b->n = mz_reader_read_raw(a->r, b->ev, MZ_BATCH);
	if (b->n > 0 && a->r->ordered)
		memcpy(b->orders, a->r->orders, (size_t)b->n * sizeof(*b->orders));
	if (b->n > 0 && tell_new(a, b) < 0)
		b->n = -ENOMEM;
}

/* ---- the thread ----------------------------------------------------------- */

static void *work(void *arg)
{
	struct kmem_ahead *a = arg;
	bool on = true;

	while (on) {
		struct kmem_batch *b;

		pthread_mutex_lock(&a->lock);
		/* one batch is in the reader's hands; sleep for many, not for one */
		if (a->made - a->taken >= BATCHES - 1)
			while (!a->stop && a->made - a->taken >= BATCHES / 2)
				pthread_cond_wait(&a->change, &a->lock);
		on = !a->stop;
		b = &a->batch[a->made % BATCHES];
		pthread_mutex_unlock(&a->lock);
		if (!on)
			break;
		make(a, b);
		on = b->n > 0;
		pthread_mutex_lock(&a->lock);
		a->made++;
		/* nor is the reader woken for one, but for many, or for the end */
		if (a->waits && (!on || a->made - a->taken >= BATCHES / 2))
			pthread_cond_signal(&a->change);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

struct kmem_ahead *kmem_ahead_new(struct mz_reader *r, bool threaded, bool stacks)
{
	struct kmem_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->r = r;
	a->stacks = stacks;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	/* without a thread it goes as well, only later */
	a->threaded = threaded && !pthread_create(&a->thread, NULL, work, a);
	return a;
}

void kmem_ahead_free(struct kmem_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	if (a->threaded)
		pthread_join(a->thread, NULL);
	for (int i = 0; i < BATCHES; i++) {
		forget(&a->batch[i]);
		free(a->batch[i].sites);
		free(a->batch[i].stacks);
		free(a->batch[i].caches);
	}
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

struct kmem_batch *kmem_ahead_next(struct kmem_ahead *a)
{
	struct kmem_batch *last = a->taken ? &a->batch[(a->taken - 1) % BATCHES] : NULL;

	if (last && last->n <= 0)
		return last;
	if (!a->threaded) {
		make(a, &a->batch[a->taken % BATCHES]);
		return &a->batch[a->taken++ % BATCHES];
	}
	pthread_mutex_lock(&a->lock);
	a->waits = true;
	while (a->made == a->taken)
		pthread_cond_wait(&a->change, &a->lock);
	a->waits = false;
	last = &a->batch[a->taken++ % BATCHES];
	if (a->made - a->taken < BATCHES / 2)
		pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	return last;
}
