/* SPDX-License-Identifier: BSD-2-Clause */
/* A chunk: up to MZ_WIRE_MAX_EVENTS events that can be decoded on their own. */
/*
 * An event is a pattern (all values that recur) and numbers (those that do not). Patterns are
 * stored once per chunk and referred to by tokens. Blocks are named by their position among the
 * live blocks of the chunk: its guests, which are older than the chunk and used in it, and those
 * born in it.
 */
#ifndef MZ_TRACE_CHUNK_H
#define MZ_TRACE_CHUNK_H

#include "trace/codec.h"

enum mz_column_id {
	/* the patterns, one number each */
	MZ_COL_FORM,
	MZ_COL_KIND,
	MZ_COL_CALL,
	MZ_COL_HAS,
	MZ_COL_SIZE,
	MZ_COL_GIVEN,
	MZ_COL_ARG,
	MZ_COL_SITE,
	MZ_COL_CACHE,
	MZ_COL_FLAGS,
	MZ_COL_UNIT,
	MZ_COL_BLOCK,
	/* origin: cpu, node, pid, tid */
	MZ_COL_WHO_CPU,
	MZ_COL_WHO_NODE,
	MZ_COL_WHO_PID,
	MZ_COL_WHO_TID,
	/* the guests */
	MZ_COL_GUEST_OBJECT,
	MZ_COL_GUEST_ADDR,
	/* the events */
	MZ_COL_TOKEN,
	MZ_COL_WHO,
	MZ_COL_TIME,
	MZ_COL_STEP,	  /* blocks: the step from the last block used */
	MZ_COL_OWN_SIZE,  /* of events whose pattern has none */
	MZ_COL_OWN_GIVEN, /* given - size */
	MZ_COL_OWN_ARG,
	MZ_COL_PLACE,	   /* how the address of a new block is found */
	MZ_COL_ADDR,	   /* where it is not */
	MZ_COL_STRAY_ADDR, /* addresses that no block explains */
	MZ_COL_STRAY_OBJECT,
	MZ_COL_JUMP,  /* objects that are not the next */
	MZ_COL_AGAIN, /* addresses that were in ADDR before */
	MZ_COLUMNS
};

/* Columns that belong to the events, WHO up to ADDR, are mixed with the token of the event that
 * each number belongs to. */
#define MZ_CONTEXTS (MZ_COL_ADDR - MZ_COL_WHO + 1)

/* What the parts of an event are; bits of the form of a pattern. */
enum mz_form {
	MZ_FORM_BIRTH = 1,	    /* a block begins */
	MZ_FORM_BLOCK = 2,	    /* a block of the chunk is used */
	MZ_FORM_END = 4,	    /* ... and ends */
	MZ_FORM_OWN = 8,	    /* size, given and arg are numbers of the event */
	MZ_FORM_GROWS = 16,	    /* size is relative to that of the last birth */
	MZ_FORM_JUMP = 32,	    /* the new object is not the next */
	MZ_FORM_STRAY_ADDR = 64,    /* the address is not that of the block used */
	MZ_FORM_STRAY_NEW = 128,    /* the address of an event that is no birth */
	MZ_FORM_STRAY_OBJECT = 256, /* the object is not in the chunk */
	MZ_FORM_STRAY_BORN = 512,   /* the same for a new object that is no birth */
	MZ_FORMS = 1023
};

struct mz_pattern {
	uint64_t size;
	uint64_t given;
	uint64_t arg;
	uint32_t site;
	uint32_t cache;
	uint32_t flags;
	uint32_t block; /* 0: a step of its own; 2r + 1: rank r; 2s + 2: zigzag step s */
	uint16_t form;
	uint16_t has;
	uint8_t kind;
	uint8_t call;
	uint16_t zero;
	uint32_t unit;
	uint32_t zero_too;
};

struct mz_who {
	int16_t cpu;
	int16_t node;
	uint32_t pid;
	uint32_t tid;
};

/* What the frame of a chunk and the index contain about it. */
struct mz_chunk_info {
	uint32_t stream;
	uint32_t sequence; /* of the chunk in its stream, from 0 */
	uint32_t events;   /* including lost events */
	uint32_t n_lost;   /* the number of lost events */
	uint32_t fields;   /* enum mz_field, of any event */
	uint32_t births;
	bool raw;	       /* no objects: the reader names them */
	bool deltas;	       /* SITE, GIVEN and OWN_GIVEN are differences to what is expected */
	uint64_t first_object; /* the first born in it */
	uint64_t last_object;
	uint64_t guest_object; /* the oldest guest; 0: none */
	uint64_t first_time;   /* least and greatest */
	uint64_t last_time;
	uint64_t cpu_mask; /* bit cpu % 64 */
	uint64_t tid_mask; /* bit tid % 64 */
	uint64_t lost[MZ_LOSSES];
};

/* Ready-made sizes of the text of an info. */
void mz_chunk_info_put(const struct mz_chunk_info *info, struct mz_buf *out);
int mz_chunk_info_get(struct mz_bytes *in, struct mz_chunk_info *info);

#define MZ_WHO_FIELDS (MZ_HAS_CPU | MZ_HAS_NODE | MZ_HAS_PID | MZ_HAS_TID)

static inline uint16_t mz_pattern_context(uint64_t form, uint64_t kind)
{
	return (uint16_t)(form << 3 | (kind & 7));
}

static inline bool mz_is_birth_kind(unsigned kind)
{
	return kind == MZ_ALLOC || kind == MZ_REALLOC;
}

/* ---- writing ------------------------------------------------------------ */

struct mz_encoder;

struct mz_encode_options {
	bool best;
	bool raw;
	int level;     /* of zstd; 0: the usual one */
	uint32_t drop; /* enum mz_field: not kept */
	uint32_t max_events;
};

struct mz_encoder *mz_encoder_new(const struct mz_encode_options *options);
void mz_encoder_free(struct mz_encoder *e);
void mz_encoder_set_stream(struct mz_encoder *e, uint32_t stream);
/* The number of the current chunk, for a stream that has several encoders. */
void mz_encoder_set_sequence(struct mz_encoder *e, uint32_t sequence);

/* The zstd level for the current chunk and those after it. */
void mz_encoder_set_level(struct mz_encoder *e, int level);

/* Columns of at most this many numbers are packed by context mixing if that saves enough, in the
 * current chunk and those after it; with best, all columns are. */
void mz_encoder_mix_short(struct mz_encoder *e, uint32_t upto);

/* Adds events until the chunk is full or finished. Returns how many were taken, or -errno. */
long mz_encoder_add(struct mz_encoder *e, const struct mz_event *ev, size_t n);
bool mz_encoder_full(const struct mz_encoder *e);
uint32_t mz_encoder_events(const struct mz_encoder *e);
/* Bytes of a collected chunk: all, and without what each event takes. */
size_t mz_encoder_memory(const struct mz_encoder *e);
size_t mz_encoder_tables(const struct mz_encoder *e);

/* Does a part of the work of mz_encoder_finish(), in the caller's thread. The options of the chunk
 * must be set, and no event may be added any more. 1: more is left; 0: everything is done but the
 * packing; -ENOMEM: finish will begin again. */
int mz_encoder_step(struct mz_encoder *e);

/* Appends the payload of the chunk to out; the encoder is empty again. On failure the events
 * stay in it. sizes, if not NULL, gets the bytes by column. */
int mz_encoder_finish(struct mz_encoder *e, struct mz_chunk_info *info, struct mz_buf *out,
		      uint64_t sizes[MZ_COLUMNS]);

/* ---- reading ------------------------------------------------------------ */

struct mz_decoder;

struct mz_decoder *mz_decoder_new(void);
void mz_decoder_free(struct mz_decoder *d);

/* Takes a payload, which may be freed after the call. 0, -ENOMEM, -EBADMSG. */
int mz_decoder_start(struct mz_decoder *d, const void *payload, size_t size);
const struct mz_chunk_info *mz_decoder_info(const struct mz_decoder *d);
/* The bytes that it holds while it exists. */
size_t mz_decoder_memory(const struct mz_decoder *d);
const char *mz_decoder_why(const struct mz_decoder *d); /* what is damaged */

/* The next events: how many, 0 at the end, -EBADMSG. */
long mz_decoder_read(struct mz_decoder *d, struct mz_event *ev, size_t max);

#endif
