/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of numbers, and how they are packed. */
/* Each column has a codec, which the encoder chooses, and then zstd or context mixing. */
#ifndef MZ_TRACE_CODEC_H
#define MZ_TRACE_CODEC_H

#include "trace/wire.h"

enum mz_codec {
	MZ_CODEC_SAME = 1,   /* one value, n times */
	MZ_CODEC_PLANES = 2, /* variable-length numbers: first bytes apart from the rest */
	MZ_CODEC_LOG = 3,    /* magnitudes apart from the bits below them */
	MZ_CODEC_SPLIT = 4,  /* small numbers in one byte, the others in two */
	MZ_CODEC_MIXED = 5,  /* context mixing */
	MZ_CODEC_BYTES = 6,  /* the lowest byte of all numbers, then the next one, and so on */
	MZ_CODEC_SPARSE = 7, /* those that are not 0, and the zeros before each */
};

/* A growing array. Failure is sticky, as in struct mz_buf. */
struct mz_codec_column {
	uint64_t *v;
	uint32_t n;
	uint32_t cap;
	bool failed;
};

bool mz_codec_column_room(struct mz_codec_column *c, uint32_t n);
void mz_codec_column_free(struct mz_codec_column *c);

static inline void mz_codec_column_add(struct mz_codec_column *c, uint64_t v)
{
	if (c->n < c->cap || mz_codec_column_room(c, 1))
		c->v[c->n++] = v;
}

/* How to pack a column. SPARSE is used where it fits, if the column allows it. */
struct mz_pack_how {
	bool sparse;
	enum mz_codec codec;	 /* PLANES, LOG or SPLIT; SAME is found by itself */
	bool repeats;		 /* BYTES in its place, if that is smaller */
	bool words;		 /* MIXED: a sequence of symbols, not of quantities */
	const uint16_t *context; /* MIXED: what goes with each number; may be NULL */
};

/* Compressors and scratch memory, kept from chunk to chunk. */
struct mz_packer {
	void *zstd; /* ZSTD_CCtx or ZSTD_DCtx */
	struct mz_buf a, b, packed;
	struct mz_codec_cm *cm;
	uint32_t mix_upto;  /* numbers of a column that is tried with MIXED, too */
	uint32_t mix_worth; /* numbers that may be mixed for each byte that it saves */
	int level;	    /* of zstd, from the next bytes on */
	int has;	    /* the level that zstd is set to */
};

/* Use context mixing for everything that becomes smaller; or only for short columns that become
 * clearly smaller and can be unpacked in a few milliseconds; or, with 0 numbers, for nothing. */
void mz_packer_mix_all(struct mz_packer *pk);
void mz_packer_mix_short(struct mz_packer *pk, uint32_t upto);

void mz_packer_deinit(struct mz_packer *pk);

/* Append the column to out: count, codec, data. 0 or -ENOMEM. */
int mz_codec_column_pack(struct mz_packer *pk, const uint64_t *v, uint32_t n,
			 const struct mz_pack_how *how, struct mz_buf *out);

/* The inverse; at most max numbers. 0, -ENOMEM, or -EBADMSG: damaged. */
int mz_codec_column_unpack(struct mz_packer *pk, struct mz_bytes *in, uint32_t max, bool words,
			   const uint16_t *context, uint32_t n_context, struct mz_codec_column *c);

/* Bytes, as themselves or through zstd, whichever is less. */
int mz_bytes_pack(struct mz_packer *pk, const void *data, size_t n, struct mz_buf *out);
/* The inverse, appended to out; at most max bytes. */
int mz_bytes_unpack(struct mz_packer *pk, struct mz_bytes *in, size_t max, struct mz_buf *out);

#endif
