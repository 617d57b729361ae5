// SPDX-License-Identifier: BSD-2-Clause
/* Read and write the info of a chunk: its counts, time range and losses. */
#include <errno.h>

#include "trace/chunk.h"

enum { INFO_RAW = 1, INFO_DELTAS = 2, INFO_ALL = 3 };

static void put_mask(struct mz_buf *out, uint64_t mask)
{
	uint8_t b[8];

	mz_put64(b, mask);
	mz_buf_add(out, b, sizeof(b));
}

/* The index repeats these values for every chunk: a reader can select chunks by time, CPU,
 * thread or block without decoding one. */
void mz_chunk_info_put(const struct mz_chunk_info *info, struct mz_buf *out)
{
	uint32_t causes = 0;

	mz_buf_number(out, (info->raw ? INFO_RAW : 0) | (info->deltas ? INFO_DELTAS : 0));
	mz_buf_number(out, info->stream);
	mz_buf_number(out, info->sequence);
	mz_buf_number(out, info->events);
	mz_buf_number(out, info->fields);
	mz_buf_number(out, info->births);
	mz_buf_number(out, info->guest_object);
	if (!info->raw && info->births) {
		mz_buf_number(out, info->first_object);
		mz_buf_number(out, info->last_object - info->first_object);
	}
	if (info->fields & MZ_HAS_TIME) {
		mz_buf_number(out, info->first_time);
		mz_buf_number(out, info->last_time - info->first_time);
	}
	if (info->fields & MZ_HAS_CPU)
		put_mask(out, info->cpu_mask);
	if (info->fields & MZ_HAS_TID)
		put_mask(out, info->tid_mask);
	for (int i = 0; i < MZ_LOSSES; i++)
		causes += info->lost[i] != 0;
	mz_buf_number(out, info->n_lost);
	mz_buf_number(out, causes);
	for (unsigned i = 0; i < MZ_LOSSES; i++) {
		if (info->lost[i]) {
			mz_buf_number(out, i);
			mz_buf_number(out, info->lost[i]);
		}
	}
}

static uint64_t get_mask(struct mz_bytes *in)
{
	const uint8_t *p = mz_bytes_take(in, 8);

	return p ? mz_get64(p) : 0;
}

static void get_lost(struct mz_bytes *in, struct mz_chunk_info *info)
{
	uint64_t causes;

	info->n_lost = (uint32_t)mz_bytes_upto(in, info->events);
	causes = mz_bytes_upto(in, 64);

	while (causes-- && !in->bad) {
		uint64_t cause = mz_bytes_upto(in, 63), n = mz_bytes_number(in);

		/* a cause of a later version is one that we do not know */
		info->lost[cause < MZ_LOSSES ? cause : MZ_LOSS_UNKNOWN] += n;
	}
}

/* Every number is bounded while it is read; a value out of range marks the input as bad, which
 * is checked once at the end. */
int mz_chunk_info_get(struct mz_bytes *in, struct mz_chunk_info *info)
{
	uint64_t flags = mz_bytes_upto(in, INFO_ALL);

	*info = (struct mz_chunk_info){.raw = flags & INFO_RAW, .deltas = flags & INFO_DELTAS};
	info->stream = (uint32_t)mz_bytes_upto(in, UINT32_MAX);
	info->sequence = (uint32_t)mz_bytes_upto(in, UINT32_MAX);
	info->events = (uint32_t)mz_bytes_upto(in, MZ_WIRE_MAX_EVENTS);
	info->fields = (uint32_t)mz_bytes_upto(in, MZ_HAS_ALL);
	info->births = (uint32_t)mz_bytes_upto(in, info->events);
	info->guest_object = mz_bytes_number(in);
	if (!info->raw && info->births) {
		info->first_object = mz_bytes_number(in);
		info->last_object = info->first_object + mz_bytes_number(in);
	}
	if (info->fields & MZ_HAS_TIME) {
		info->first_time = mz_bytes_number(in);
		info->last_time = info->first_time + mz_bytes_number(in);
	}
	if (info->fields & MZ_HAS_CPU)
		info->cpu_mask = get_mask(in);
	if (info->fields & MZ_HAS_TID)
		info->tid_mask = get_mask(in);
	get_lost(in, info);
	return in->bad ? -EBADMSG : 0;
}
