/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorder needs from a writer, and no other user of the library does. */
#ifndef MZ_TRACE_WRITER_H
#define MZ_TRACE_WRITER_H

#include <memorizer.h>

/* As mz_writer_add() and mz_stream_add(), of events that this program has made or read itself: they
 * are not checked one by one. */
int mz_writer_put(struct mz_writer *w, const struct mz_event *ev, size_t n);
int mz_stream_put(struct mz_stream *s, const struct mz_event *ev, size_t n);

/* As mz_writer_open(), for a name that the user did not give: only as a regular file. Another
 * user may have made a pipe of that name, and opening one may block forever. */
struct mz_writer *mz_writer_open_file(const char *path, const struct mz_writer_options *options,
				      struct mz_error *err);

/* For the chunks from now on: compress faster, or, while events are waiting, as fast as
 * possible: in a fifth of the time, for a tenth more space. The file can be converted to a
 * smaller one later, when no program has to share the processors with the conversion. */
void mz_writer_hurry(struct mz_writer *w, bool behind);

/* From now on, a separate thread packs and writes the chunks of raw events, one at a time and in
 * order, while the next ones are collected; or no longer. The contents of the file depend on it
 * only in where chunks end and how small they get: they are half as long or shorter and have less
 * of zstd's tables, to keep to the same memory. */
void mz_writer_beside(struct mz_writer *w, bool beside);

/* What the events that are not in the file yet take: bytes, about. */
size_t mz_writer_memory(const struct mz_writer *w);
/* Write them, and give their memory back; unless there are so few that it is not worth it. 0 or
 * -errno, as mz_writer_put(). */
int mz_writer_shrink(struct mz_writer *w);

/* The addresses of the stacks so far, in no particular order, some of them more than once; up to
 * max. */
size_t mz_writer_frames(struct mz_writer *w, uint64_t *ips, size_t max);

#endif
