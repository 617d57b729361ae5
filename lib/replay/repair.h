/* SPDX-License-Identifier: BSD-2-Clause */
/* Inversions: frees that a log shows too late. */
/*
 * When several threads write one log, an address may be seen given out again before its free is
 * seen. The free then follows soon after, from another thread; it is put first, with what its
 * thread did before it.
 */
#ifndef MZ_REPLAY_REPAIR_H
#define MZ_REPLAY_REPAIR_H

#include "trace/live.h"

#define MZ_REPAIR_WINDOW 1024u /* how far ahead a free is looked for */

struct mz_repair {
	struct mz_live live; /* addresses */
	struct mz_event *ring;
	bool *gone; /* emitted ahead of its turn */
	size_t at, count;
	size_t first[MZ_REPAIR_WINDOW]; /* what goes first, as distance from at */
	size_t firsts, first_at;
	uint64_t repaired;
};

int mz_repair_init(struct mz_repair *r);
void mz_repair_deinit(struct mz_repair *r);

static inline bool mz_repair_full(const struct mz_repair *r)
{
	return r->count == MZ_REPAIR_WINDOW;
}

/* There must be room. */
void mz_repair_push(struct mz_repair *r, const struct mz_event *ev);

/* The next event in repaired order: 1, 0 = none left, -ENOMEM. Call it when the
 * window is full, or at the end of the trace. */
int mz_repair_pop(struct mz_repair *r, struct mz_event *ev);

#endif
