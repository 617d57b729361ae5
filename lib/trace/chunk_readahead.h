/* SPDX-License-Identifier: BSD-2-Clause */
/* The chunks of a stream, one after another. */
/*
 * A thread may decode the next one while this one is read: the events and their order are the same.
 */
#ifndef MZ_TRACE_CHUNK_READAHEAD_H
#define MZ_TRACE_CHUNK_READAHEAD_H

#include "trace/chunk.h"

/* Loads the payload of the chunk with this number: 0, -EBADMSG if it is damaged, else -errno with
 * err set. Two threads may be in it. */
typedef int mz_chunk_load(void *arg, uint32_t number, struct mz_buf *payload, struct mz_error *err);

struct mz_chunk_readahead;

/* n chunks. beside: with a thread, if there is more than one chunk and a processor for it.
 * NULL = no memory. */
struct mz_chunk_readahead *mz_chunk_readahead_new(mz_chunk_load *load, void *arg, uint32_t n,
						  bool beside);
/* Waits for the thread. */
void mz_chunk_readahead_free(struct mz_chunk_readahead *a);

/* Goes to the next chunk, of those that are left: 0 or as load() and mz_decoder_start(). */
int mz_chunk_readahead_next(struct mz_chunk_readahead *a, struct mz_error *err);
/* Events of the chunk, as mz_decoder_read(). */
long mz_chunk_readahead_read(struct mz_chunk_readahead *a, struct mz_event *ev, size_t max);
/* Bytes of memory that all chunks read so far needed at a time. */
size_t mz_chunk_readahead_memory(const struct mz_chunk_readahead *a);

#endif
