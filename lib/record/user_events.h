/* SPDX-License-Identifier: BSD-2-Clause */
/* From the records of a ring to events. */
#ifndef MZ_RECORD_USER_EVENTS_H
#define MZ_RECORD_USER_EVENTS_H

#include "record/user_rings.h"

/* The next records of a ring that belong together, of which at least one is
 * there. 0 or -errno. Sets r->blocked, and takes nothing, when another ring's
 * record must come first and is not there yet. */
int mz_user_unit(struct mz_user_rings *r, unsigned ring);

/* What the rest of a ring holds was not written by the library: it is counted as
 * damaged, and passed over. */
int mz_user_skip(struct mz_user_rings *r, unsigned ring);

/* Record n of a ring, wherever it is; NULL = it cannot be read. */
const struct mz_record *mz_user_at(struct mz_user_rings *r, unsigned ring, uint64_t n);

/* The clock of the record at the tail. */
uint64_t mz_user_first_time(struct mz_user_rings *r, unsigned ring);

/* In ns since the start. */
uint64_t mz_user_time(const struct mz_user_rings *r, uint64_t clock);

int mz_user_settle_realloc(struct mz_user_rings *r, unsigned self, uint64_t addr);

/* A ring that was full when its program ended: its last losses were never reported. */
int mz_user_untold(struct mz_user_rings *r, unsigned image, unsigned i);

/* The ring's thread is gone: a realloc that it never came back from is over. */
void mz_user_ring_ended(struct mz_user_rings *r, unsigned ring);

/* Events of threads that had no ring, as a loss at the end. */
int mz_user_missed(struct mz_user_rings *r, unsigned image);

#endif
