/* SPDX-License-Identifier: BSD-2-Clause */
/* The encoder's first half: what the events of a chunk are made of. */
#ifndef MZ_TRACE_ENCODE_COLLECT_H
#define MZ_TRACE_ENCODE_COLLECT_H

#include "base/pair_index.h"
#include "base/u64_table.h"
#include "trace/addr_predict.h"
#include "trace/encode_patterns.h"
#include "trace/live_rank.h"

/* Blocks of the chunk: births count up from 0, guests have this bit. */
#define MZ_GUEST 0x80000000u

struct mz_guest {
	uint64_t object;
	uint64_t addr;
	uint32_t number; /* in order of first use */
};

#define MZ_GROW_SPAN	 64 /* deltas of sizes that are counted */
#define MZ_WHO_HINTS	 1024
#define MZ_RECENT_WHOS	 16
#define MZ_VARIANT_HINTS 256

/* A record of the encoder's tables: a number by a number. */
struct mz_encode_note {
	uint64_t key;
	uint32_t value;
};

/* The value of a key, which is not 0; *is_new and 0 if it has none yet. NULL: no
 * memory. Holds until the next call. */
static inline uint32_t *mz_encode_note(struct mz_u64_table *t, uint64_t key, bool *is_new)
{
	struct mz_encode_note *n = mz_u64_table_insert(t, key, sizeof(*n), is_new);

	return n ? &n->value : NULL;
}

/* Where an event comes from: pid and tid; cpu, node, and which of them are known. */
struct mz_encode_origin {
	uint64_t whose, where;
	uint32_t who; /* its number */
};

/* What is left to do with a chunk. */
enum mz_encode_stage {
	MZ_STAGE_COLLECT,
	MZ_STAGE_WALK,
	MZ_STAGE_SETTLE,
	MZ_STAGE_PUT,
	MZ_STAGE_REST,
	MZ_STAGE_PACK
};

/* What the second half carries from one event to the next. */
struct mz_encode_walk {
	uint64_t growth;
	uint64_t last_size;
	uint64_t time;
	uint32_t births;
};

/* Of a final pattern: its token, and what its events have besides it. */
struct mz_encode_told {
	uint32_t token;
	uint32_t does;
};

struct mz_encoder {
	struct mz_encode_options options;
	struct mz_chunk_info info;
	uint64_t next_object;
	uint64_t low_object; /* the least below the first; 0: none */
	uint64_t first_key;  /* objects from here on are in window */
	uint64_t last_size;  /* of the last birth */

	struct mz_patterns patterns;
	uint32_t *pattern;  /* of each event */
	uint32_t *block;    /* that each event uses; births are counted, not stored */
	uint32_t *step;	    /* the step that leads to this block from the one used last */
	uint32_t *final_of; /* the final pattern of each event */
	uint32_t *who;
	uint64_t *time;
	uint32_t events;
	uint32_t cap;

	uint32_t *window;     /* object - first_key -> birth + 1; 0: unknown, NONE: dead */
	uint64_t *birth_addr; /* by birth */
	uint64_t *birth_size;
	uint32_t in_window; /* how much of it may not be 0 */
	struct mz_guest *guests;
	uint32_t n_guests, cap_guests;
	struct mz_u64_table map; /* objects outside of the window; addresses of a raw chunk */

	struct mz_codec_column stray_addr, stray_object, jump;
	struct mz_who *whos;
	uint32_t n_whos, cap_whos;
	struct mz_pair_index who_index; /* the same numbers: there may be one per event */
	uint32_t who_hint[MZ_WHO_HINTS];
	struct mz_encode_origin recent[MZ_RECENT_WHOS]; /* by thread; where is 0: none */
	uint32_t grows[2 * MZ_GROW_SPAN + 1];

	/* the second half: encode_columns.c */
	enum mz_encode_stage stage;
	uint32_t walked; /* events that went through the stage */
	struct mz_encode_walk walk;
	struct mz_u64_table variants; /* pattern, block -> final + 1 */
	struct mz_patterns final;     /* with what they say of blocks */
	uint32_t *place;	      /* of guests: in order of object */
	uint16_t *pattern_context;
	uint32_t *plain_final; /* by pattern: the final one of events that use no block; or NONE */
	uint32_t cap_plain;
	uint32_t *does; /* by pattern: bits of encode_columns.c */
	uint32_t cap_does;
	struct mz_encode_told *told;			      /* by final pattern */
	struct mz_encode_note variant_hint[MZ_VARIANT_HINTS]; /* of variants, the last ones */
	uint32_t *target, *token;			      /* of the final patterns */
	uint32_t cap_target, cap_token;
	uint32_t often, once; /* patterns by token, and in order of use */
	uint32_t last_site;   /* of the preceding pattern that has one */
	struct mz_live_rank ranks;
	struct mz_codec_column columns[MZ_COLUMNS];
	uint16_t *contexts[MZ_CONTEXTS]; /* tokens that the columns go with */
	uint32_t n_contexts;		 /* of each: room; longer columns need none */
	struct mz_packer packer;
	struct mz_addr_predict *places;
	enum mz_rounding rounding;
	unsigned shift; /* of addresses */
};

void mz_encode_collect_clear(struct mz_encoder *e);

#endif
