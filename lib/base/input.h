/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte stream to read from: a file, a pipe or memory. */
/*
 * It is seen through a window that moves forward, so that memory is bounded, whatever the length of
 * the stream. Offsets and lines are those of the unpacked stream.
 */
#ifndef MZ_BASE_INPUT_H
#define MZ_BASE_INPUT_H

#include <memorizer.h>

#include "base/mem_budget.h"

struct mz_input {
	const char *pos; /* unread bytes: [pos, end) */
	const char *end;
	uint64_t offset; /* of end, in the stream */
	bool eof;	 /* nothing follows end */
	int fd;		 /* -1: memory */
	bool own_fd;
	char *buf;
	size_t cap;
	char *name;		     /* for messages */
	struct mz_unpack *unpack;    /* NULL: the bytes are as they come */
	bool grows;		     /* a pipe: its size is what has come so far */
	struct mz_mem_budget budget; /* of what is kept of it; set large before the first read */
};

/* path "-" is standard input. 0 or -errno with err set. */
int mz_input_open(struct mz_input *in, const char *path, struct mz_error *err);
int mz_input_fd(struct mz_input *in, int fd, const char *name, struct mz_error *err);
int mz_input_memory(struct mz_input *in, const void *data, size_t size, const char *name,
		    struct mz_error *err);
void mz_input_close(struct mz_input *in);

/* Have at least n unread bytes in the window, or all there are. n may be as
 * large as the caller can bound it; the window grows to hold it. 0 or -errno. */
int mz_input_fill(struct mz_input *in, size_t n, struct mz_error *err);

/* -ENOMEM, or -EFBIG if the budget does not allow more, with err set. */
int mz_input_no_memory(const struct mz_input *in, struct mz_error *err);

/* If the stream is compressed (its first bytes decide; none may have been taken yet), the
 * window shows the decompressed bytes from now on. 0 or -errno. */
int mz_input_unpack(struct mz_input *in, struct mz_error *err);

/* The next line, without its newline (CR LF counts as one), in place: valid
 * until the next call. 1, 0 at the end of the stream, -errno. A last line
 * without newline is a line. Lines over MZ_LINE_MAX are an error. */
int mz_input_line(struct mz_input *in, const char **line, size_t *len, struct mz_error *err);

#define MZ_LINE_MAX (1u << 20)

static inline size_t mz_input_left(const struct mz_input *in)
{
	return (size_t)(in->end - in->pos);
}

/* Offset of the next unread byte. */
static inline uint64_t mz_input_tell(const struct mz_input *in)
{
	return in->offset - mz_input_left(in);
}

#endif
