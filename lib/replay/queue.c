// SPDX-License-Identifier: BSD-2-Clause
/* Pass batches of operations from the decoder process to the replay threads. */
#include "replay/queue.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE  64u
#define SPINS 200

struct mz_queues *mz_queues_new(unsigned count, unsigned batches, unsigned ops)
{
	size_t batch = sizeof(struct mz_batch) + ops * sizeof(struct mz_op);
	size_t stride = ((batch + LINE - 1) & ~(size_t)(LINE - 1)) * batches;
	size_t head = sizeof(struct mz_queues) + count * sizeof(struct mz_queue);
	size_t bytes = ((head + 4095) & ~(size_t)4095) + stride * count;
	/* all pages now: memory that the replay adds to the process must not be ours */
	struct mz_queues *q = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (q == MAP_FAILED)
		return NULL;
	q->count = count;
	q->batches = batches;
	q->ops = ops;
	q->stride = stride;
	q->bytes = bytes;
	return q;
}

void mz_queues_free(struct mz_queues *q)
{
	if (q)
		munmap(q, q->bytes);
}

struct mz_batch *mz_queue_batch(const struct mz_queues *q, unsigned queue, uint32_t i)
{
	char *end = (char *)(uintptr_t)q + q->bytes;
	size_t batch = q->stride / q->batches;

	return (void *)(end - (q->count - queue) * q->stride + (i & (q->batches - 1)) * batch);
}

/* Sleep while *word is value, with a short limit, because a process that was killed wakes no
 * other. */
static void sleep_on(struct mz_queue *q, _Atomic uint32_t *word, uint32_t value)
{
	struct timespec limit = {.tv_nsec = 50000000};

	atomic_fetch_add(&q->waits, 1);
	if (atomic_load(word) == value)
		syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
	atomic_fetch_sub(&q->waits, 1);
}

static void wake(struct mz_queue *q, _Atomic uint32_t *word)
{
	/* the store to word comes before this look, the other side's store to waits
	 * before its look at word: one of the two sees the other */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&q->waits, memory_order_relaxed))
		syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool gone(struct mz_queues *q)
{
	return atomic_load_explicit(&q->stop, memory_order_acquire) ||
	       atomic_load_explicit(&q->over, memory_order_acquire);
}

/* After a sleep: is the decoder still there? One that ended normally has filled its queues with
 * everything they will get. That stops no thread: others may still wait for their turns. */
static void look_after_decoder(struct mz_queues *q)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)q->decoder, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
		atomic_store(&q->over, 1);
}

bool mz_queue_full(struct mz_queues *q, unsigned queue)
{
	struct mz_queue *u = &q->queues[queue];

	return atomic_load_explicit(&u->filled, memory_order_relaxed) -
		       atomic_load_explicit(&u->taken, memory_order_acquire) ==
	       q->batches;
}

/* Spins first: the other side usually needs microseconds, and a futex would cost more. */
bool mz_queue_wait_taken(struct mz_queues *q, unsigned queue, uint32_t n)
{
	struct mz_queue *u = &q->queues[queue];

	for (unsigned spin = 0;; spin++) {
		uint32_t taken = atomic_load_explicit(&u->taken, memory_order_acquire);

		if ((int32_t)(taken - n) >= 0)
			return true;
		if (gone(q))
			return false;
		if (spin > SPINS)
			sleep_on(u, &u->taken, taken);
	}
}

struct mz_batch *mz_queue_room(struct mz_queues *q, unsigned queue)
{
	uint32_t filled = atomic_load_explicit(&q->queues[queue].filled, memory_order_relaxed);

	if (!mz_queue_wait_taken(q, queue, filled + 1 - q->batches))
		return NULL;
	return mz_queue_batch(q, queue, filled);
}

void mz_queue_push(struct mz_queues *q, unsigned queue)
{
	struct mz_queue *u = &q->queues[queue];

	atomic_fetch_add_explicit(&u->filled, 1, memory_order_release);
	wake(u, &u->filled);
}

struct mz_batch *mz_queue_next(struct mz_queues *q, unsigned queue, unsigned kept)
{
	struct mz_queue *u = &q->queues[queue];
	uint32_t taken = atomic_load_explicit(&u->taken, memory_order_relaxed) + kept;

	for (unsigned spin = 0;; spin++) {
		bool over = gone(q); /* looked at first: what was filled before counts */
		uint32_t filled = atomic_load_explicit(&u->filled, memory_order_acquire);

		if (filled != taken)
			return mz_queue_batch(q, queue, taken);
		if (over)
			return NULL;
		if (spin > SPINS) {
			sleep_on(u, &u->filled, filled);
			look_after_decoder(q);
		}
	}
}

unsigned mz_queue_wait_full(struct mz_queues *q, unsigned queue)
{
	struct mz_queue *u = &q->queues[queue];
	uint32_t taken = atomic_load_explicit(&u->taken, memory_order_relaxed);

	for (unsigned spin = 0; !gone(q); spin++) {
		uint32_t filled = atomic_load_explicit(&u->filled, memory_order_acquire);

		if (filled - taken == q->batches ||
		    (filled != taken && mz_queue_batch(q, queue, filled - 1)->end_round))
			return filled - taken;
		if (spin > SPINS) {
			sleep_on(u, &u->filled, filled);
			look_after_decoder(q);
		}
	}
	return 1;
}

void mz_queue_done(struct mz_queues *q, unsigned queue, unsigned n)
{
	struct mz_queue *u = &q->queues[queue];

	atomic_fetch_add_explicit(&u->taken, n, memory_order_release);
	wake(u, &u->taken);
}

void mz_queues_stop(struct mz_queues *q)
{
	atomic_store(&q->stop, 1);
	for (unsigned i = 0; i < q->count; i++) {
		syscall(SYS_futex, &q->queues[i].filled, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		syscall(SYS_futex, &q->queues[i].taken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}
