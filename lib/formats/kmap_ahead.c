// SPDX-License-Identifier: BSD-2-Clause
#include "formats/kmap_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#define BATCHES 8

struct mz_kmap_ahead {
	mz_kmap_make_fn *make;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint64_t made, taken; /* batches; the one before taken is in use */
	bool stop;
	struct mz_kmap_batch batch[BATCHES];
};

static void *work(void *arg)
{
	struct mz_kmap_ahead *a = arg;
	bool on = true;

	while (on) {
		struct mz_kmap_batch *b;

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
		a->make(a->arg, b);
		on = b->ret > 0;
		pthread_mutex_lock(&a->lock);
		a->made++;
		pthread_cond_signal(&a->change);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

struct mz_kmap_ahead *mz_kmap_ahead_new(mz_kmap_make_fn *make, void *arg)
{
	struct mz_kmap_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->make = make;
	a->arg = arg;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	if (!pthread_create(&a->thread, NULL, work, a))
		return a;
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}

void mz_kmap_ahead_free(struct mz_kmap_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	for (int i = 0; i < BATCHES; i++) {
		free(a->batch[i].text);
		free(a->batch[i].records);
	}
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

const struct mz_kmap_batch *mz_kmap_ahead_next(struct mz_kmap_ahead *a)
{
	const struct mz_kmap_batch *b;

	pthread_mutex_lock(&a->lock);
	while (a->made == a->taken)
		pthread_cond_wait(&a->change, &a->lock);
	b = &a->batch[a->taken++ % BATCHES];
	if (a->made - a->taken < BATCHES / 2)
		pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	return b;
}
