// SPDX-License-Identifier: BSD-2-Clause
/* Decode chunks in a thread, ahead of the reader. */
/*
 * The thread unpacks a chunk and decodes its events until the reader arrives at that chunk. Then
 * the reader decodes the rest of it, and the thread begins with the next one, so that both are busy
 * whichever has more to do.
 */
#include "trace/chunk_readahead.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/beside.h"
#include "trace/reader.h"

#define SLOTS 2 /* one that is read, and one that is made */

/* Events that are copied at once. Copies of 4 KB and more use an instruction that is several
 * times slower where source and target are nearly the same place of different pages, as arrays
 * from malloc() are. */
#define COPY 32

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_READY };

/* A chunk. While it is busy, it belongs to the thread that makes it; then to the reader. */
struct ahead_slot {
	enum slot_state state;
	struct mz_decoder *decoder;
	struct mz_buf payload;
	int ret; /* of loading and starting */
	struct mz_error error;
	struct mz_event *events; /* decoded before the reader came */
	uint32_t cap, n, at;
	bool over; /* after these events, reading returns end */
	long end;
	size_t memory;
};

struct mz_chunk_readahead {
	mz_chunk_load *load;
	void *arg;
	uint32_t n;
	uint32_t next;		 /* chunk of the reader */
	uint32_t begun;		 /* chunks that were begun, by either side */
	_Atomic uint32_t wanted; /* events of chunks below this are left to the reader */
	struct ahead_slot slots[SLOTS];
	uint32_t in_use; /* slots: without a thread one, whose decoder keeps its memory */
	struct mz_beside thread;
	pthread_mutex_t lock; /* of begun and the states */
	pthread_cond_t change;
	bool beside, stop;
};

struct mz_chunk_readahead *mz_chunk_readahead_new(mz_chunk_load *load, void *arg, uint32_t n,
						  bool beside)
{
	struct mz_chunk_readahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->load = load;
	a->arg = arg;
	a->n = n;
	a->beside = beside && n > 1 && mz_beside_possible();
	a->in_use = a->beside ? SLOTS : 1;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	return a;
}

void mz_chunk_readahead_free(struct mz_chunk_readahead *a)
{
	if (!a || mz_beside_forked(&a->thread))
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	atomic_store(&a->wanted, UINT32_MAX);
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
	mz_beside_wait(&a->thread);
	for (int i = 0; i < SLOTS; i++) {
		mz_decoder_free(a->slots[i].decoder);
		mz_buf_free(&a->slots[i].payload);
		free(a->slots[i].events);
	}
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct ahead_slot *slot_of(struct mz_chunk_readahead *a, uint32_t number)
{
	return &a->slots[number % a->in_use];
}

/* ---- making a chunk --------------------------------------------------------- */

/* Load and unpack it. */
static void start(const struct mz_chunk_readahead *a, struct ahead_slot *s, uint32_t number)
{
	s->error = (struct mz_error){0};
	s->n = s->at = 0;
	s->over = false;
	if (!s->decoder)
		s->decoder = mz_decoder_new();
	s->ret = s->decoder ? a->load(a->arg, number, &s->payload, &s->error) : -ENOMEM;
	if (!s->ret)
		s->ret = mz_decoder_start(s->decoder, s->payload.data, s->payload.len);
}

/* Without memory for them the reader decodes the events. */
static bool events_room(struct ahead_slot *s)
{
	uint32_t n = mz_decoder_info(s->decoder)->events;

	if (n > s->cap) {
		free(s->events);
		s->events = malloc(n * sizeof(*s->events));
		s->cap = s->events ? n : 0;
	}
	return n <= s->cap;
}

/* Uses the same batches as a reader without a thread, so that damage ends both at the same
 * event. */
static void decode(struct mz_chunk_readahead *a, struct ahead_slot *s, uint32_t number)
{
	if (s->ret || !events_room(s))
		return;
	while (!s->over && atomic_load_explicit(&a->wanted, memory_order_relaxed) <= number) {
		size_t room = s->cap - s->n;
		long n = mz_decoder_read(s->decoder, s->events + s->n,
					 room < MZ_BATCH ? room : MZ_BATCH);

		s->over = n <= 0;
		s->end = n;
		s->n += n > 0 ? (uint32_t)n : 0;
	}
}

static void *work(void *arg)
{
	struct mz_chunk_readahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stop && a->begun < a->n) {
		uint32_t number = a->begun;
		struct ahead_slot *s = slot_of(a, number);

		if (s->state != SLOT_FREE) {
			pthread_cond_wait(&a->change, &a->lock);
			continue;
		}
		a->begun++;
		s->state = SLOT_BUSY;
		pthread_mutex_unlock(&a->lock);
		start(a, s, number);
		decode(a, s, number);
		pthread_mutex_lock(&a->lock);
		s->state = SLOT_READY;
		pthread_cond_signal(&a->change);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- the reader ------------------------------------------------------------- */

/* True: no thread has begun the chunk, and the reader makes it. Otherwise it is ready. */
static bool take(struct mz_chunk_readahead *a, uint32_t number)
{
	struct ahead_slot *s = slot_of(a, number);
	bool mine;

	pthread_mutex_lock(&a->lock);
	if (number)
		slot_of(a, number - 1)->state = SLOT_FREE;
	atomic_store(&a->wanted, number + 1);
	mine = a->begun == number;
	if (mine) {
		a->begun++;
		s->state = SLOT_BUSY;
	}
	pthread_cond_signal(&a->change);
	while (!mine && s->state != SLOT_READY)
		pthread_cond_wait(&a->change, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return mine;
}

int mz_chunk_readahead_next(struct mz_chunk_readahead *a, struct mz_error *err)
{
	uint32_t number = a->next++;
	struct ahead_slot *s = slot_of(a, number);
	bool mine;

	if (mz_beside_forked(&a->thread))
		return mz_beside_fail_forked(err);
	mine = take(a, number);
	/* without a thread the reader makes all chunks */
	if (a->beside)
		mz_beside_start(&a->thread, work, a);
	a->beside = false;
	if (mine)
		start(a, s, number);
	s->memory = s->decoder ? mz_decoder_memory(s->decoder) : 0;
	s->memory += s->payload.cap + s->cap * sizeof(*s->events);
	if (s->ret < 0 && s->error.code && err)
		*err = s->error;
	return s->ret;
}

long mz_chunk_readahead_read(struct mz_chunk_readahead *a, struct mz_event *ev, size_t max)
{
	struct ahead_slot *s = slot_of(a, a->next - 1);
	size_t n = s->n - s->at;

	if (!n)
		return s->over ? s->end : mz_decoder_read(s->decoder, ev, max);
	n = n < max ? n : max;
	for (size_t i = 0, part; i < n; i += part) {
		part = n - i < COPY ? n - i : COPY;
		memcpy(ev + i, s->events + s->at + i, part * sizeof(*ev));
	}
	s->at += (uint32_t)n;
	return (long)n;
}

size_t mz_chunk_readahead_memory(const struct mz_chunk_readahead *a)
{
	size_t n = 0;

	for (int i = 0; i < SLOTS; i++)
		n += a->slots[i].memory;
	return n;
}
