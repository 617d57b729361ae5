/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a trace in another trace format. */
/*
 * A container keeps all that the trace has, unless fields are dropped; text has lines; the classic
 * format has sizes and the order only.
 */
#ifndef MZ_EXPORT_TRANSCODE_H
#define MZ_EXPORT_TRANSCODE_H

#include "formats/classic.h"

struct mz_transcode_options {
	enum mz_format to;  /* container, text or classic */
	const char *output; /* NULL: standard output */
	bool overwrite;
	bool tags;	     /* text with serial numbers */
	bool best;	     /* compress better, but slower */
	bool skip_unmatched; /* what the classic format cannot express is left out and counted */
	bool kernel;	     /* the trace of a kernel, which text does not say */
	uint32_t drop;	     /* fields to leave out: MZ_HAS_... */
	void (*progress)(void *arg, uint64_t events); /* after each batch; NULL = none */
	void *arg;
};

struct mz_transcode_counts {
	uint64_t events;			/* of the trace, losses not included */
	uint64_t lost;				/* as its losses say */
	uint64_t damaged;			/* places that were lost to damage */
	uint64_t skipped[MZ_CLASSIC_FIT_KINDS]; /* classic: of those, by fit */
};

/* Reads the trace to its end. 0 or -errno with err set; the output is then as it was. */
int mz_transcode(struct mz_reader *in, const struct mz_transcode_options *o,
		 struct mz_transcode_counts *counts, struct mz_error *err);

#endif
