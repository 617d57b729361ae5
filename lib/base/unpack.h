/* SPDX-License-Identifier: BSD-2-Clause */
/* A packed stream (gzip, Zstandard) as the bytes that it stands for. */
#ifndef MZ_BASE_UNPACK_H
#define MZ_BASE_UNPACK_H

#include <memorizer.h>
#include <sys/types.h>

struct mz_unpack;

/* The bytes at the start of a stream are those of a packed one. */
bool mz_unpack_probe(const void *data, size_t len);

/* head: what was read of the stream so far; the rest comes from fd (-1: there is
 * none). head is copied. NULL = no memory. */
struct mz_unpack *mz_unpack_new(int fd, const void *head, size_t len);
/* Packed bytes that were read so far. */
uint64_t mz_unpack_taken(const struct mz_unpack *u);
void mz_unpack_free(struct mz_unpack *u);

/* As read(2): how many bytes, 0 at the end, -errno with err set. A stream that is
 * cut off, or followed by something else, is an error. */
ssize_t mz_unpack_read(struct mz_unpack *u, void *to, size_t max, const char *name,
		       struct mz_error *err);

#endif
