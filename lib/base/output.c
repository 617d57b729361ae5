// SPDX-License-Identifier: BSD-2-Clause
/* Buffer output into an atomic file. */
#include "base/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static int open_as(struct mz_output *out, const char *path, unsigned how, struct mz_error *err)
{
	int ret;

	*out = (struct mz_output){.file.fd = -1, .cap = MZ_OUTPUT_ROOM};
	out->buf = malloc(MZ_OUTPUT_ROOM);
	if (!out->buf)
		ret = mz_fail_memory(err);
	else if (!path || !strcmp(path, "-"))
		ret = mz_atomic_file_fd(&out->file, STDOUT_FILENO, "standard output", err);
	else
		ret = mz_atomic_file_open(&out->file, path, how, err);
	if (ret < 0)
		mz_output_abort(out);
	return ret;
}

int mz_output_open(struct mz_output *out, const char *path, bool overwrite, struct mz_error *err)
{
	return open_as(out, path, overwrite ? MZ_FILE_REPLACE : 0, err);
}

int mz_output_open_file(struct mz_output *out, const char *path, bool overwrite,
			struct mz_error *err)
{
	return open_as(out, path, MZ_FILE_REGULAR | (overwrite ? MZ_FILE_REPLACE : 0), err);
}

int mz_output_flush(struct mz_output *out, struct mz_error *err)
{
	size_t n = out->len;

	/* also after an error, since an append is written as a whole or not at all */
	out->len = 0;
	return mz_atomic_file_append(&out->file, out->buf, n, NULL, 0, err);
}

/* For callers that format in place; n must not exceed MZ_OUTPUT_ROOM. */
char *mz_output_room(struct mz_output *out, size_t n, struct mz_error *err)
{
	if (n > out->cap - out->len && mz_output_flush(out, err) < 0)
		return NULL;
	return out->buf + out->len;
}

/* Large data bypasses the buffer: copying it would cost as much as writing it. */
int mz_output_add(struct mz_output *out, const void *data, size_t n, struct mz_error *err)
{
	if (n >= out->cap) {
		size_t len = out->len;

		out->len = 0;
		return mz_atomic_file_append(&out->file, out->buf, len, data, n, err);
	}
	if (n > out->cap - out->len) {
		int ret = mz_output_flush(out, err);

		if (ret < 0)
			return ret;
	}
	/* nothing may come with a NULL pointer, which memcpy() does not take */
	if (n)
		memcpy(out->buf + out->len, data, n);
	out->len += n;
	return 0;
}

/* What is left in the buffer may be what does not fit on the disk, so only a flush that succeeds
 * leads to the name. */
int mz_output_commit(struct mz_output *out, struct mz_error *err)
{
	int ret = mz_output_flush(out, err);

	if (!ret)
		ret = mz_atomic_file_commit(&out->file, err);
	mz_output_abort(out);
	return ret;
}

void mz_output_abort(struct mz_output *out)
{
	mz_atomic_file_abort(&out->file);
	free(out->buf);
	*out = (struct mz_output){.file.fd = -1};
}

int mz_output_end(struct mz_output *out, int ret, struct mz_error *err)
{
	if (ret >= 0)
		return mz_output_commit(out, err);
	mz_output_abort(out);
	return ret;
}
