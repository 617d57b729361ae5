/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is there whole or not at all. */
/*
 * It grows under the name PATH.part and is renamed to PATH when it is complete and on the disk.
 * PATH.part is locked, so that a second writer is refused, and ends with a whole append even when
 * the disk is full. Standard output, pipes and devices are written directly.
 */
#ifndef MZ_BASE_ATOMIC_FILE_H
#define MZ_BASE_ATOMIC_FILE_H

#include <memorizer.h>

enum mz_file_how {
	MZ_FILE_REPLACE = 1, /* an existing file, and what a stopped writer left */
	MZ_FILE_REGULAR = 2, /* never write to a pipe or a device that has the name */
};

struct mz_atomic_file {
	int fd; /* -1 = closed */
	char *path;
	char *part;    /* NULL: written directly */
	uint64_t size; /* bytes appended */
	unsigned how;  /* enum mz_file_how */
	bool keeps;    /* the caller leaves PATH.part after an error: messages name it */
};

/* An existing PATH, and a PATH.part that a stopped writer left, are refused unless
 * MZ_FILE_REPLACE. A PATH.part of another user is always refused, and so is a pipe, device or
 * link of another user in a folder that others can write to. New files are for the owner alone
 * (0600). */
int mz_atomic_file_open(struct mz_atomic_file *f, const char *path, unsigned how,
			struct mz_error *err);
/* A descriptor of the caller's, which stays open. */
int mz_atomic_file_fd(struct mz_atomic_file *f, int fd, const char *name, struct mz_error *err);

/* Would mz_atomic_file_open() succeed? Creates nothing: for callers that want to know
 * before they start a program. 0 or -errno. */
int mz_atomic_file_check(const char *path, unsigned how, struct mz_error *err);

/* Both parts or, in a file, neither. */
int mz_atomic_file_append(struct mz_atomic_file *f, const void *a, size_t na, const void *b,
			  size_t nb, struct mz_error *err);

/* Overwrites bytes that were appended earlier. Only for files that have a .part: not for pipes. */
int mz_atomic_file_replace(struct mz_atomic_file *f, uint64_t offset, const void *data, size_t n,
			   struct mz_error *err);

/* Write the file to the disk and give it its name. Closed on success only; after an
 * error the caller chooses between leave and abort. There is no file PATH then, unless
 * it was the folder that could not be written to the disk: the message says so. */
int mz_atomic_file_commit(struct mz_atomic_file *f, struct mz_error *err);
/* Close it and leave PATH.part where it is. */
void mz_atomic_file_leave(struct mz_atomic_file *f);
/* Close it and remove PATH.part. Fine on a closed file. */
void mz_atomic_file_abort(struct mz_atomic_file *f);

#endif
