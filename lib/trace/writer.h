/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorder asks of a writer, and no other user of the library. */
#ifndef MZ_TRACE_WRITER_H
#define MZ_TRACE_WRITER_H

#include <memorizer.h>

/* As mz_writer_open(), for a name that the user did not give: only as a regular file. Anybody may
 * have made a pipe of that name, and to open one may take for ever. */
struct mz_writer *mz_writer_open_file(const char *path, const struct mz_writer_options *options,
				      struct mz_error *err);

/* For the chunks from now on: take less time for compression, or, with events that wait, as little
 * as possible: a fifth of it, for a tenth more room. The file can be converted to a smaller one
 * later, when no program has to share the processors with it. */
void mz_writer_hurry(struct mz_writer *w, bool behind);

/* From now on, chunks of raw events are packed and written by a thread of their own while the
 * next ones are collected, one at a time and in their order; or no longer. What the file holds
 * depends on it only in where chunks end: they are half as long, to keep to the same memory. */
void mz_writer_beside(struct mz_writer *w, bool beside);

/* The addresses of the stacks so far, in no order, some of them more than once; up to max. */
size_t mz_writer_frames(struct mz_writer *w, uint64_t *ips, size_t max);

#endif
