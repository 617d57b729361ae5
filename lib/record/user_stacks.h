/* SPDX-License-Identifier: BSD-2-Clause */
/* The call stacks of the programs that are recorded: put together, numbered, counted. */
#ifndef MZ_RECORD_USER_STACKS_H
#define MZ_RECORD_USER_STACKS_H

#include <memorizer.h>
#include <uapi/memorizer/record.h>

#include "trace/stack_share.h"

/* The stack that a ring sent last, outermost frame first. */
struct mz_user_told {
	uint64_t *frames; /* MZ_STACK_DEPTH of them; NULL: none yet */
	uint32_t depth;
	uint32_t fresh; /* frames that came since one was put into the file */
};

/* What a site is in our tables: the file's number of the stack, and how it came. */
#define MZ_USER_SITE_BITS 3u

static inline uint32_t mz_user_site_stack(uint32_t site)
{
	return site >> MZ_USER_SITE_BITS;
}

/* Adds frames as they arrive; rec says how many. 1: the stack is complete; 0: more frames follow;
 * -EBADMSG: the frames cannot be right, and are left out; -ENOMEM. */
int mz_user_told_add(struct mz_user_told *t, const struct mz_record *rec, const uint64_t *frames);

/* Adds the assembled stack to the file: its site, or 0: no memory. */
uint32_t mz_user_told_site(const struct mz_user_told *t, struct mz_writer *w, uint8_t how);

void mz_user_told_free(struct mz_user_told *t);

/* An allocation was at this site. */
static inline void mz_user_stacks_count(struct mz_stack_share *s, uint32_t site)
{
	s->blocks++;
	s->rooted += (site & MZ_STACK_ROOTED) != 0;
	s->cut += (site & MZ_STACK_CUT) != 0;
	s->guessed += (site & MZ_STACK_GUESSED) != 0;
}

/* The counts, for the file's readers. */
void mz_user_stacks_put(const struct mz_stack_share *s, struct mz_writer *w);

#endif
