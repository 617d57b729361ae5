/* SPDX-License-Identifier: BSD-2-Clause */
/* Determine what a file is from its first bytes, never from its name. */
#ifndef MZ_FORMATS_OPEN_H
#define MZ_FORMATS_OPEN_H

#include <memorizer.h>

struct mz_input;
struct mz_reader_ops;

enum mz_content {
	MZ_CONTENT_UNKNOWN,
	MZ_CONTENT_TRACE,     /* events: a reader reads it */
	MZ_CONTENT_KMAP,      /* the lines of a KMAP */
	MZ_CONTENT_DHAT,      /* sums of call sites, without events */
	MZ_CONTENT_ALLOCINFO, /* the same, of a kernel */
};

/* As many bytes as are needed to decide: the first lines of a text. */
#define MZ_CONTENT_PROBE 4096

/* The unpacked start of a file. *ops: the reader of a trace, NULL for anything else. */
enum mz_content mz_content_of(const char *data, size_t len, const struct mz_reader_ops **ops);

/* As mz_reader_open_input() of an unpacked input whose reader was found: the look at its start is
 * not repeated. ops NULL = it was not. */
struct mz_reader *mz_reader_open_known(struct mz_input *in, const struct mz_reader_ops *ops,
				       struct mz_error *err);

/* A reader of the first lines of what comes next, which are not taken; of this format. NULL: it
 * cannot be read. */
struct mz_reader *mz_reader_peek(const struct mz_input *in, const struct mz_reader_ops *ops,
				 struct mz_error *err);

/* What was recorded into a trace, as far as its format, its attributes and, for text, its first
 * block tell. 0 or -ENOMEM. */
int mz_reader_kind(const struct mz_reader *r, enum mz_recording_kind *kind, struct mz_error *err);

/* For callers that need another kind: the error says what the file is, and what reads it. -EINVAL.
 */
int mz_kind_refuse(const char *name, enum mz_recording_kind kind, struct mz_error *err);

#endif
