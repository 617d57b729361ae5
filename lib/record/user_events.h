/* SPDX-License-Identifier: BSD-2-Clause */
/* From the records of a ring to events. */
#ifndef MZ_RECORD_USER_EVENTS_H
#define MZ_RECORD_USER_EVENTS_H

#include "record/user_rings.h"

/* Handles the next records of a ring that belong together; at least one must be there. 0 or -errno.
 * If a record of another ring must come first and has not arrived yet, sets r->blocked and takes
 * nothing. */
int mz_user_unit(struct mz_user_rings *r, unsigned ring);

/* What the rest of a ring holds was not written by the library: it is counted as
 * damaged, and passed over. */
int mz_user_skip(struct mz_user_rings *r, unsigned ring);

/* Record n of a ring, wherever it is; NULL = it cannot be read. */
const struct mz_record *mz_user_at(struct mz_user_rings *r, unsigned ring, uint64_t n);

/* The clock of the record at the tail. */
uint64_t mz_user_first_time(struct mz_user_rings *r, unsigned ring);

/* The same for records that need no special care, as long as they are not later than upto: plain
 * calls and their stacks, which are nearly all records. Takes none if the next one is of another
 * sort. */
int mz_user_plain(struct mz_user_rings *r, unsigned ring, uint64_t upto);

/* The whole clock of a record, which has half of it: records of a ring are near each other. */
static inline uint64_t mz_user_whole_time(const struct mz_user_ring *ring,
					  const struct mz_record *rec)
{
	if (rec->type == MZ_REC_TIME)
		return rec->value;
	if (rec->type == MZ_CALL_FREE && !rec->value && !rec->time)
		return ring->time;
	return ring->time + (uint64_t)(int32_t)(rec->time - (uint32_t)ring->time);
}

/* In ns since the start. */
static inline uint64_t mz_user_time(const struct mz_user_rings *r, uint64_t clock)
{
	double ns;

	if (!r->tsc)
		return clock > r->ns0 ? clock - r->ns0 : 0;
	ns = (double)(int64_t)(clock - r->clock0) * r->rate;
	return ns > 0 && ns < 9e18 ? (uint64_t)(int64_t)ns : 0;
}

int mz_user_settle_realloc(struct mz_user_rings *r, unsigned self, uint64_t addr);

/* A ring that was full when its program ended: its last losses were never reported. */
int mz_user_untold(struct mz_user_rings *r, unsigned image, unsigned i);

/* The ring's thread is gone: a realloc that it never came back from is over. */
void mz_user_ring_ended(struct mz_user_rings *r, unsigned ring);

/* Events of threads that had no ring, as a loss at the end. */
int mz_user_missed(struct mz_user_rings *r, unsigned image);

#endif
