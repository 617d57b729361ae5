// SPDX-License-Identifier: BSD-2-Clause
/* Read text traces in batches and give each block its object number. */
#include <errno.h>

#include "base/error.h"
#include "formats/text.h"

/* Blocks without address are named by their tag. A trace must not mix the two kinds of names:
 * it would be unknown whether they mean the same block. */
static int name_blocks(struct mz_reader *r, struct mz_event *ev, const struct mz_text_line *info)
{
	bool by_tag = !(ev->has & MZ_HAS_ADDR);

	if (ev->kind == MZ_LOST || ev->kind == MZ_MARK)
		return 0;
	if (!r->named)
		r->live.by_object = by_tag;
	r->named = true;
	if (by_tag != r->live.by_object)
		return mz_fail_line(&r->error, EINVAL, r->line,
				    "%s: line %llu: some blocks of the trace have an address, and "
				    "some have none",
				    r->in.name, (unsigned long long)r->line);
	if (by_tag) {
		ev->object = info->tag;
		ev->old_object = info->old_tag;
	}
	return 0;
}

static int read_one(struct mz_reader *r, struct mz_event *ev)
{
	struct mz_text_line info;
	struct mz_error why;
	int ret;

	why.code = 0;
	do {
		ret = mz_text_next(&r->in, r->tables, ev, &info, &why);
		if (!ret)
			return 0;
		r->line++;
	} while (ret == MZ_TEXT_NO_EVENT);
	if (ret < 0)
		return mz_text_fail(&r->error, &why, r->in.name, r->line);
	r->junk += info.junk;
	r->fields |= ev->has;
	return name_blocks(r, ev, &info) < 0 ? -EINVAL : 1;
}

static long text_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	size_t n = 0;

	while (n < max) {
		int ret = read_one(r, &ev[n]);

		if (ret < 0 && !n)
			return ret;
		if (ret <= 0)
			break; /* the events before an error are good */
		r->places[n++] = r->line;
	}
	return (long)n;
}

const struct mz_reader_ops mz_text_reader_ops = {
	.format = MZ_FORMAT_TEXT,
	.lines = true,
	.read = text_read,
};
