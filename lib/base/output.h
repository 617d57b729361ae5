/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffered output into an atomic file (base/atomic_file.h). */
/*
 * The file is there whole or not at all. Standard output, pipes and devices are written directly.
 */
#ifndef MZ_BASE_OUTPUT_H
#define MZ_BASE_OUTPUT_H

#include "base/atomic_file.h"

struct mz_output {
	struct mz_atomic_file file;
	char *buf; /* not yet written: [0, len) */
	size_t len;
	size_t cap;
};

/* path NULL or "-" is standard output. */
int mz_output_open(struct mz_output *out, const char *path, bool overwrite, struct mz_error *err);
/* For a name that the user did not give: never a pipe or a device, which others may have made. */
int mz_output_open_file(struct mz_output *out, const char *path, bool overwrite,
			struct mz_error *err);
int mz_output_add(struct mz_output *out, const void *data, size_t n, struct mz_error *err);

/* Room for n contiguous bytes; the caller writes at the returned place and then
 * adds to out->len what it used. NULL: err is set. n at most MZ_OUTPUT_ROOM. */
char *mz_output_room(struct mz_output *out, size_t n, struct mz_error *err);
#define MZ_OUTPUT_ROOM (256u * 1024)

int mz_output_flush(struct mz_output *out, struct mz_error *err);

/* Write the rest and give the file its name. 0 or -errno; out is closed in
 * both cases, and on failure no temporary file is left behind. */
int mz_output_commit(struct mz_output *out, struct mz_error *err);

/* Throw away what was written. Fine on a closed output. */
void mz_output_abort(struct mz_output *out);

/* Commit if ret says that all went well, else abort. ret, or the error of the commit. */
int mz_output_end(struct mz_output *out, int ret, struct mz_error *err);

#endif
