// SPDX-License-Identifier: BSD-2-Clause
/* Read how a recording was sampled, and refuse what a sample cannot answer. */
#include "trace/sampled.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static uint64_t number(const struct mz_reader *r, const char *key)
{
	const struct mz_attr *a = mz_reader_find_attr(r, key);

	return a && a->type == MZ_ATTR_NUMBER ? a->number : 0;
}

/* The flags of blocks in a program's recording are weights, and nothing else. */
static bool has_weights(const struct mz_reader *r)
{
	const struct mz_attr *a = mz_reader_find_attr(r, "source");

	return a && a->type == MZ_ATTR_TEXT && !strcmp(a->data, "memorizer record") &&
	       mz_reader_fields(r) & MZ_HAS_FLAGS;
}

bool mz_sampled_read(const struct mz_reader *r, struct mz_sampled *s)
{
	*s = (struct mz_sampled){.weight = number(r, "sampled.weight"),
				 .allocs = number(r, "sampled.allocs"),
				 .bytes = number(r, "sampled.bytes"),
				 .frees = number(r, "sampled.frees"),
				 .first = number(r, "sampled.first"),
				 .last = number(r, "sampled.last")};
	return s->weight || has_weights(r);
}

int mz_sampled_refuse(const struct mz_reader *r, const char *what, struct mz_error *err)
{
	struct mz_sampled s;

	if (!mz_sampled_read(r, &s))
		return 0;
	return mz_fail(err, EINVAL,
		       "the recording was sampled: its blocks stand for others that it does not "
		       "contain, and %s needs all of them (record with --wait, without --sample)",
		       what);
}

void mz_sampled_json(const struct mz_sampled *s, uint64_t events, struct mz_json *out)
{
	mz_json_object(out, "sampled");
	mz_json_u64(out, "events", events);
	mz_json_u64(out, "allocations", s->allocs);
	mz_json_u64(out, "bytes", s->bytes);
	mz_json_u64(out, "frees", s->frees);
	mz_json_u64(out, "weight", s->weight);
	mz_json_double(out, "first_seconds", (double)s->first / 1e9);
	mz_json_double(out, "last_seconds", (double)s->last / 1e9);
	mz_json_end_object(out);
}
