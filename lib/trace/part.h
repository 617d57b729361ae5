/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that grows under the name PATH.part and is renamed to PATH when it is
 * whole. It is locked, so that a second writer is told; it ends at a block even
 * when the disk is full.
 */
#ifndef MZ_TRACE_PART_H
#define MZ_TRACE_PART_H

#include <memorizer.h>

struct mz_part {
	int fd;
	char *path;
	char *part; /* NULL: written directly */
	uint64_t size;
	bool overwrite;
};

int mz_part_open(struct mz_part *p, const char *path, bool overwrite, struct mz_error *err);
/* A descriptor of the caller's. */
int mz_part_fd(struct mz_part *p, int fd, const char *name, struct mz_error *err);

/* Both parts or, in a file, neither. */
int mz_part_append(struct mz_part *p, const void *a, size_t na, const void *b, size_t nb,
		   struct mz_error *err);

/* Give it its name; closed on success only. */
int mz_part_commit(struct mz_part *p, struct mz_error *err);
/* Close it and leave PATH.part where it is. */
void mz_part_leave(struct mz_part *p);
/* Close it and remove PATH.part. */
void mz_part_abort(struct mz_part *p);

#endif
