// SPDX-License-Identifier: BSD-2-Clause
/* Read how far the call stacks of a recording reach. */
#include "trace/stack_share.h"

static uint64_t number(const struct mz_reader *r, const char *key)
{
	const struct mz_attr *a = mz_reader_find_attr(r, key);

	return a && a->type == MZ_ATTR_NUMBER ? a->number : 0;
}

bool mz_stack_share_read(const struct mz_reader *r, struct mz_stack_share *s)
{
	*s = (struct mz_stack_share){.blocks = number(r, "stacks.blocks"),
				     .rooted = number(r, "stacks.rooted"),
				     .cut = number(r, "stacks.cut"),
				     .guessed = number(r, "stacks.guessed")};
	return s->blocks;
}

void mz_stack_share_json(const struct mz_stack_share *s, struct mz_json *out)
{
	mz_json_object(out, "stacks");
	mz_json_u64(out, "blocks", s->blocks);
	mz_json_u64(out, "rooted", s->rooted);
	mz_json_u64(out, "cut", s->cut);
	mz_json_u64(out, "guessed", s->guessed);
	mz_json_end_object(out);
}

double mz_stack_share_rooted(const struct mz_stack_share *s)
{
	double share = s->blocks ? 100.0 * (double)s->rooted / (double)s->blocks : 0;

	/* rounded to two digits it must not look whole */
	return s->rooted < s->blocks && share > 99.99 ? 99.99 : share;
}
