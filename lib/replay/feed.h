/* SPDX-License-Identifier: BSD-2-Clause */
/* The decoder of a replay: reads the trace and fills the queues. It runs in a
 * process of its own. */
#ifndef MZ_REPLAY_FEED_H
#define MZ_REPLAY_FEED_H

#include "replay/queue.h"

struct mz_tid {
	uint64_t key; /* tid + 1 */
	unsigned number;
};

/* The threads of a trace, numbered in the order that they appear. */
struct mz_tids {
	struct mz_u64_table map; /* struct mz_tid */
	unsigned count;
};

int mz_tids_init(struct mz_tids *t);
void mz_tids_deinit(struct mz_tids *t);
/* The number of an event's thread, or -ENOMEM. */
int mz_tids_number(struct mz_tids *t, const struct mz_event *ev);

struct mz_feed {
	int fd; /* of the trace; read from its start */
	const char *name;
	struct mz_queues *queues;
	bool threads; /* a queue for each thread; else one for all */
	unsigned rounds;
	bool free_rest;
	unsigned flags; /* enum mz_open_flags */
	bool touches;	/* blocks are written to: their bytes become memory */
	int print;	/* a descriptor to write the new trace to, as text; -1 = none */
};

/* Feed the queues until the trace is at its end: 0, or -errno. The counts and
 * the error are left in the queues too, where the other process finds them. */
int mz_feed_run(struct mz_feed *f);

/* How many threads the trace has (1 if it does not say). -errno with err. */
int mz_feed_scan(int fd, const char *name, unsigned flags, struct mz_error *err);

#endif
