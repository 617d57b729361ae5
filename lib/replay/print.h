/* SPDX-License-Identifier: BSD-2-Clause */
/* The new trace of a verbose replay: the old events with the new addresses. */
#ifndef MZ_REPLAY_PRINT_H
#define MZ_REPLAY_PRINT_H

#include "replay/queue.h"

struct mz_pending; /* an event whose operation is on its way */

struct mz_print_block {
	uint64_t addr, object; /* in the new trace */
};

struct mz_print {
	int fd;
	struct mz_queues *queues;
	struct mz_pending *pending; /* a ring */
	size_t cap, at, count;
	struct mz_print_block *blocks; /* of each slot */
	uint32_t blocks_cap;
	uint64_t serial;
	char *buf;
	size_t len;
	struct mz_error *err;
};

int mz_print_init(struct mz_print *p, int fd, struct mz_queues *q, struct mz_error *err);
void mz_print_deinit(struct mz_print *p);

/* The event was planned as op i of the batch number batch of a queue. */
int mz_print_add(struct mz_print *p, const struct mz_event *ev, unsigned queue, uint32_t batch,
		 uint32_t i);

/* How many of the waiting events must be printed before the operations of this
 * batch, and of those before it in the queue, may be overwritten. */
size_t mz_print_needed(const struct mz_print *p, unsigned queue, uint32_t batch);

/* Print what is done; wait for the first needed ones (which must be on their way). */
int mz_print_done(struct mz_print *p, size_t needed);
int mz_print_flush(struct mz_print *p);

#endif
