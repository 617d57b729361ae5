/* SPDX-License-Identifier: BSD-2-Clause */
/* The replay itself. */
/*
 * It takes operations from a queue and calls the allocator of the process. All memory of its own is
 * mapped, none of it from the heap.
 */
#ifndef MZ_REPLAY_ENGINE_H
#define MZ_REPLAY_ENGINE_H

#include "replay/queue.h"

/* The most operations of a batch that are replayed from a copy. */
#define MZ_ENGINE_OPS 512

enum mz_touch {
	MZ_TOUCH_NONE,
	MZ_TOUCH_FIRST, /* the first byte of a block */
	MZ_TOUCH_ALL,	/* every byte */
};

/* What one thread did. */
struct mz_engine_counts {
	uint64_t ops;	  /* calls of the allocator */
	uint64_t ns;	  /* in the loops that make them, and nothing else */
	uint64_t best_ns; /* of the fastest round */
	uint64_t failed;  /* gave a block in the trace, and none here */
	uint64_t given;	  /* gave none in the trace, and a block here */
	uint64_t waits;	  /* for another thread's operation on the same block */
	uint64_t late_ns; /* paced: the most that an operation came too late */
};

/* Bytes of the trace and of the process, at one moment of the replay. */
struct mz_sample {
	uint64_t calls; /* how far the replay is, without threads; else 0 */
	uint64_t ns;	/* how far it is, with threads; else 0 */
	uint64_t live;	/* requested, in the trace */
	uint64_t rss;
};

struct mz_engine {
	struct mz_queues *queues;
	enum mz_touch touch;
	bool verbose; /* put the addresses into the operations */
	bool threads; /* keep the turns of the slots */
	bool pace;
	uint64_t start; /* paced: the clock at time 0 of the trace */
	void **slots;
	_Atomic uint16_t *turns;
	_Atomic uint32_t slots_ready; /* as far as the tables may be used */
	struct mz_sample *samples;    /* NULL: none are taken */
	size_t samples_count, samples_cap;
	uint64_t sample_every, sample_next; /* of what mz_engine_sample() is told */
	_Atomic uint64_t live;		    /* bytes, by the trace */
};

/* Tables for up to MZ_SLOT_MAX slots are reserved, and used as far as needed. */
int mz_engine_init(struct mz_engine *e, struct mz_queues *q);
void mz_engine_deinit(struct mz_engine *e);

/* Replay a queue to its end. 0, or -EPIPE: the decoder is gone. */
int mz_engine_run(struct mz_engine *e, unsigned queue, struct mz_engine_counts *counts);

/* One more sample, if it is time for one: by calls, or by ns when there are threads. The other
 * one is 0. */
void mz_engine_sample(struct mz_engine *e, uint64_t calls, uint64_t ns);

uint64_t mz_engine_clock(void); /* in ns */

/* A line of /proc/self/status in bytes ("VmHWM:", "VmRSS:"), without the heap. */
uint64_t mz_engine_status(const char *key);

#endif
