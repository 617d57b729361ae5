// SPDX-License-Identifier: BSD-2-Clause
/* Run a producer thread a few batches ahead of its consumer. */
#include "base/readahead.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/beside.h"

struct mz_readahead {
	mz_readahead_fn *make;
	void *arg;
	unsigned batches;
	struct mz_beside thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint64_t made, taken; /* batches; the one before taken is in use */
	bool stop;
	bool waits; /* the consumer, for a batch */
};

static void *work(void *arg)
{
	struct mz_readahead *a = arg;
	bool on = true;

	while (on) {
		unsigned batch;

		pthread_mutex_lock(&a->lock);
		/* one batch is in use; sleep for many, not for one */
		if (a->made - a->taken >= a->batches - 1)
			while (!a->stop && a->made - a->taken >= a->batches / 2)
				pthread_cond_wait(&a->change, &a->lock);
		on = !a->stop;
		batch = a->made % a->batches;
		pthread_mutex_unlock(&a->lock);
		if (!on)
			break;
		on = a->make(a->arg, batch);
		pthread_mutex_lock(&a->lock);
		a->made++;
		/* the consumer is woken for many batches or the end, not for one */
		if (a->waits && (!on || a->made - a->taken >= a->batches / 2))
			pthread_cond_signal(&a->change);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

struct mz_readahead *mz_readahead_new(mz_readahead_fn *make, void *arg, unsigned batches,
				      bool threaded)
{
	struct mz_readahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->make = make;
	a->arg = arg;
	a->batches = batches;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	if (threaded)
		mz_beside_start(&a->thread, work, a);
	return a;
}

void mz_readahead_free(struct mz_readahead *a)
{
	if (!a || mz_beside_forked(&a->thread))
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	mz_beside_wait(&a->thread);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

bool mz_readahead_forked(const struct mz_readahead *a)
{
	return mz_beside_forked(&a->thread);
}

unsigned mz_readahead_next(struct mz_readahead *a)
{
	unsigned batch = a->taken % a->batches;

	if (!a->thread.running) {
		a->taken++;
		a->make(a->arg, batch);
		return batch;
	}
	pthread_mutex_lock(&a->lock);
	a->waits = true;
	while (a->made == a->taken)
		pthread_cond_wait(&a->change, &a->lock);
	a->waits = false;
	a->taken++;
	if (a->made - a->taken < a->batches / 2)
		pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	return batch;
}
