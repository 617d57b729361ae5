/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of decoding a chunk: decode.c prepares it, decode_events.c reads from it. */
#ifndef MZ_TRACE_DECODE_H
#define MZ_TRACE_DECODE_H

#include <errno.h>

#include "trace/addr_predict.h"
#include "trace/chunk.h"
#include "trace/live_rank.h"

/* Most events are one of these, with nothing else. */
enum mz_decode_plain {
	MZ_DECODE_NOT_PLAIN,
	MZ_DECODE_PLAIN_BIRTH,
	MZ_DECODE_PLAIN_END,
	MZ_DECODE_PLAIN_MOVE
};

/* A prepared pattern: an event with the values that the pattern has. */
struct mz_decode_ready {
	struct mz_event event;
	uint16_t form;
	uint8_t plain; /* enum mz_decode_plain */
	bool who, timed;
	uint32_t block;
	struct mz_who mask; /* the fields that are known: all ones */
	struct mz_room fit; /* of its size, if that is the pattern's */
};

/* Where a block of the chunk is; only in chunks with addresses. */
struct mz_decode_entry {
	uint64_t addr;
	uint32_t class; /* of its size; 0: a guest's, unknown */
};

struct mz_decoder {
	struct mz_chunk_info info;
	struct mz_packer packer;
	struct mz_codec_column columns[MZ_COLUMNS];
	uint32_t at[MZ_COLUMNS]; /* the next number of each */
	struct mz_decode_ready *patterns;
	struct mz_who *whos;
	struct mz_decode_entry *entries; /* by position */
	uint64_t *objects;
	uint32_t cap_patterns, cap_whos, cap_context, cap_entries, cap_objects;
	uint32_t counted;    /* from this position on, objects are computed without a check */
	uint64_t count_from; /* object - position of those */
	struct mz_live_rank ranks;
	uint32_t site; /* of the preceding pattern that has one */
	struct mz_addr_predict *places;
	uint16_t *context;
	uint32_t often, once, guests, n_whos;
	uint32_t done; /* events */
	uint32_t births;
	uint32_t next_once;
	uint64_t next_object;
	uint64_t time;
	uint64_t last_size;
	uint64_t last_addr, last_object; /* strays */
	const char *why;
};

static inline int mz_decode_bad(struct mz_decoder *d, const char *why)
{
	d->why = why;
	return -EBADMSG;
}

/* The next number of a column; an absent column is all zeros. A column that is
 * too short gives zeros too, and the end of the chunk shows it. */
static inline uint64_t mz_decode_next(struct mz_decoder *d, enum mz_column_id id)
{
	struct mz_codec_column *c = &d->columns[id];

	return d->at[id]++ < c->n ? c->v[d->at[id] - 1] : 0;
}

static inline uint64_t mz_decode_peek(const struct mz_decoder *d, enum mz_column_id id)
{
	return d->at[id] < d->columns[id].n ? d->columns[id].v[d->at[id]] : 0;
}

#endif
