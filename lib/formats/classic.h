/* SPDX-License-Identifier: BSD-2-Clause */
/* The classic compact trace: sizes and serials, no addresses (docs/format.md). */
#ifndef MZ_FORMATS_CLASSIC_H
#define MZ_FORMATS_CLASSIC_H

#include "trace/reader.h"

/* The most bytes one record takes. */
#define MZ_CLASSIC_MAX 30

/* What the format can say of an event. */
enum mz_classic_fit {
	MZ_CLASSIC_FITS,
	MZ_CLASSIC_NO_EFFECT, /* free(NULL), a failed call, a mark: left out */
	MZ_CLASSIC_ZERO,      /* a block of 0 bytes */
	MZ_CLASSIC_UNKNOWN,   /* a free or realloc of a block never seen */
	MZ_CLASSIC_OVER_LIVE, /* an allocation over a live block */
	MZ_CLASSIC_LOST,      /* events are missing here */
	MZ_CLASSIC_FIT_KINDS
};

/* The words for an error: "a block of 0 bytes". */
const char *mz_classic_reason(enum mz_classic_fit fit);

struct mz_classic_writer {
	struct mz_live live;
};

int mz_classic_writer_init(struct mz_classic_writer *w);
void mz_classic_writer_deinit(struct mz_classic_writer *w);

/*
 * The record of one event at *p, which has room for MZ_CLASSIC_MAX bytes and is
 * moved on. Anything but MZ_CLASSIC_FITS: nothing was written, and as far as the
 * output goes the event did not happen. -ENOMEM.
 */
int mz_classic_put(struct mz_classic_writer *w, const struct mz_event *ev, char **p);

/* Does it begin as every classic trace does: a size, no old block, one new? */
bool mz_classic_probe(const char *data, size_t len);

extern const struct mz_reader_ops mz_classic_reader_ops;

#endif
