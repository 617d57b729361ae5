/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on their way from the decoder of a trace to the threads that replay it. */
/*
 * There is for each thread a short ring of batches in shared memory. The decoder is another
 * process, so that its memory is not in the heap under test.
 */
#ifndef MZ_REPLAY_QUEUE_H
#define MZ_REPLAY_QUEUE_H

#include <stdatomic.h>

#include "replay/op.h"
#include "replay/plan.h"

struct mz_batch {
	uint32_t count;
	uint32_t slots; /* the table must reach this far */
	uint64_t live;	/* bytes live in the trace after this batch */
	bool rest;	/* frees of what the trace left: not timed, not counted */
	bool end_round; /* the trace is at its end */
	bool end;	/* nothing follows */
	struct mz_op ops[];
};

struct mz_queue {
	_Atomic uint32_t filled; /* batches, by the decoder */
	_Atomic uint32_t taken;	 /* batches, by the thread */
	_Atomic uint32_t waits;	 /* how many sleep on one of the two */
	char pad[52];		 /* one cache line per queue */
};

struct mz_queues {
	unsigned count;
	unsigned batches; /* of a queue, a power of two */
	unsigned ops;	  /* of a batch */
	size_t stride;
	size_t bytes;
	int decoder;	       /* the process that fills them; set by the one that replays */
	_Atomic uint32_t stop; /* one side is gone: the other must give up */
	_Atomic uint32_t over; /* the decoder has ended: no queue gets more */
	/* what the decoder reports at the end */
	struct mz_plan_counts counts; /* of the last round */
	struct mz_error error;
	struct mz_queue queues[];
};

/* Shared memory for count queues; NULL with errno. */
struct mz_queues *mz_queues_new(unsigned count, unsigned batches, unsigned ops);
void mz_queues_free(struct mz_queues *q);

/* The i-th batch of a queue, counted from the start. */
struct mz_batch *mz_queue_batch(const struct mz_queues *q, unsigned queue, uint32_t i);

/* The decoder: the batch to fill, or NULL if the other side is gone; hand it over. */
bool mz_queue_full(struct mz_queues *q, unsigned queue);
struct mz_batch *mz_queue_room(struct mz_queues *q, unsigned queue);
void mz_queue_push(struct mz_queues *q, unsigned queue);
/* Wait until n batches are taken; false if the other side is gone. */
bool mz_queue_wait_taken(struct mz_queues *q, unsigned queue, uint32_t n);

/* The thread: the next batch after those that it keeps, or NULL if the other side
 * is gone; give back n of them. */
struct mz_batch *mz_queue_next(struct mz_queues *q, unsigned queue, unsigned kept);
void mz_queue_done(struct mz_queues *q, unsigned queue, unsigned n);
/* Wait until all batches are there, or all up to the end of the round: how many. */
unsigned mz_queue_wait_full(struct mz_queues *q, unsigned queue);

/* A short rest inside a loop that waits. */
static inline void mz_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Wake all threads; they give up. */
void mz_queues_stop(struct mz_queues *q);

#endif
