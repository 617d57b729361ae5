/* SPDX-License-Identifier: BSD-2-Clause */
/* The classic compact trace: sizes and serials, no addresses (docs/format.md). */
#ifndef MZ_FORMATS_CLASSIC_H
#define MZ_FORMATS_CLASSIC_H

#include "trace/reader.h"

/* The most bytes one record takes. */
#define MZ_CLASSIC_MAX 30

/* Can the format hold an event, and if not, why? */
enum mz_classic_fit {
	MZ_CLASSIC_FITS,
	MZ_CLASSIC_NO_EFFECT, /* free(NULL), a failed call, a mark: left out */
	MZ_CLASSIC_ZERO,      /* a block of 0 bytes */
	MZ_CLASSIC_UNKNOWN,   /* a free or realloc of a block never seen */
	MZ_CLASSIC_OVER_LIVE, /* an allocation over a live block */
	MZ_CLASSIC_LOST,      /* events are missing here */
	MZ_CLASSIC_FIT_KINDS
};

/* The reason in words, for messages: "a block of 0 bytes". */
const char *mz_classic_reason(enum mz_classic_fit fit);

struct mz_classic_writer {
	struct mz_live live;
};

int mz_classic_writer_init(struct mz_classic_writer *w);
void mz_classic_writer_deinit(struct mz_classic_writer *w);

/*
 * Writes the record of one event at *p, where MZ_CLASSIC_MAX bytes must be free, and advances *p.
 * Unless it returns MZ_CLASSIC_FITS, nothing was written, and the event has no effect on later
 * ones. -ENOMEM without memory.
 */
int mz_classic_put(struct mz_classic_writer *w, const struct mz_event *ev, char **p);

/* Do the bytes begin like every classic trace: a size, no old block, one new block? */
bool mz_classic_probe(const char *data, size_t len);

extern const struct mz_reader_ops mz_classic_reader_ops;

#endif
