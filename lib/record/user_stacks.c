// SPDX-License-Identifier: BSD-2-Clause
/* Assemble the call stacks that programs send in parts. */
#include "record/user_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stack is sent as its difference from the one before it: the outer frames that both share are
 * not sent again. All numbers come from the program, which may be corrupt. */
int mz_user_told_add(struct mz_user_told *t, const struct mz_record *rec, const uint64_t *frames)
{
	uint32_t shared = MZ_STACK_SHARED(rec->value), depth = shared + rec->size;

	if (shared > t->depth || rec->size > MZ_STACK_PART || depth > MZ_STACK_DEPTH || !depth)
		return -EBADMSG;
	if (!t->frames)
		t->frames = malloc(MZ_STACK_DEPTH * sizeof(*t->frames));
	if (!t->frames)
		return -ENOMEM;
	memcpy(t->frames + shared, frames, rec->size * sizeof(*frames));
	t->depth = depth;
	t->fresh += rec->size;
	return !(rec->arg & MZ_STACK_MORE);
}

/* Programs send the outermost frame first, because that is the part which stacks share; the tables
 * have the innermost first. */
uint32_t mz_user_told_site(const struct mz_user_told *t, struct mz_writer *w, uint8_t how)
{
	uint64_t ips[MZ_STACK_DEPTH];
	uint32_t id;

	for (uint32_t i = 0; i < t->depth; i++)
		ips[i] = t->frames[t->depth - 1 - i];
	id = mz_writer_stack(w, ips, t->depth);
	return id << MZ_USER_SITE_BITS |
	       (how & (MZ_STACK_ROOTED | MZ_STACK_CUT | MZ_STACK_GUESSED));
}

void mz_user_told_free(struct mz_user_told *t)
{
	free(t->frames);
	*t = (struct mz_user_told){0};
}

/* Without a single stack there is no share to speak of. */
void mz_user_stacks_put(const struct mz_stack_share *s, struct mz_writer *w)
{
	if (!s->blocks)
		return;
	mz_writer_set_number(w, "stacks.blocks", s->blocks);
	mz_writer_set_number(w, "stacks.rooted", s->rooted);
	mz_writer_set_number(w, "stacks.cut", s->cut);
	mz_writer_set_number(w, "stacks.guessed", s->guessed);
}
