/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a trace ends early: its recorder was stopped, or its file was cut. */
#ifndef MZ_TRACE_EARLY_END_H
#define MZ_TRACE_EARLY_END_H

#include <memorizer.h>

/* The attribute that counts such files, in a container that was made from them. */
#define MZ_FILES_CUT "files_cut"

/* What came later is unknown. In particular, a block that is never freed need not be a leak. */
struct mz_early_end {
	unsigned files;	 /* files that end early; 0 = none */
	unsigned of;	 /* files in all; 0 = not known */
	uint64_t events; /* up to there; 0 = not known, unless nothing is left */
	bool nothing;	 /* not one event is left */
	uint64_t ns;	 /* from the first event to there; 0 = not known */
};

/* How many of the files that the trace consists of end early. For a pipe this is known at its end:
 * 0 until then. */
unsigned mz_reader_files_cut(const struct mz_reader *r);

/* The same, and where. */
struct mz_early_end mz_reader_early_end(struct mz_reader *r);

/* A container made of such files has an end of its own, and must not pass for a whole recording. 0
 * or -errno. */
int mz_writer_set_files_cut(struct mz_writer *w, unsigned files);

#endif
