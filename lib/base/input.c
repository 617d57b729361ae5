// SPDX-License-Identifier: BSD-2-Clause
/* Read a file, a pipe or memory through a window of bounded size. */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/unpack.h"

#define WINDOW (256u * 1024)

static int setup(struct mz_input *in, const char *name, struct mz_error *err)
{
	*in = (struct mz_input){.fd = -1};
	in->name = strdup(name);
	return in->name ? 0 : mz_fail_memory(err);
}

/* open() succeeds on a directory and read() would fail later with a less helpful message, so
 * directories are refused here. */
int mz_input_open(struct mz_input *in, const char *path, struct mz_error *err)
{
	struct stat st;
	int ret, fd;

	if (!path)
		return mz_fail(err, EINVAL, "no file is named");
	if (!strcmp(path, "-"))
		return mz_input_fd(in, STDIN_FILENO, "standard input", err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return mz_fail(err, EISDIR, "%s: is a directory, not a trace", path);
	}
	ret = mz_input_fd(in, fd, path, err);
	if (ret < 0) {
		close(fd);
		return ret;
	}
	in->own_fd = true;
	return 0;
}

int mz_input_fd(struct mz_input *in, int fd, const char *name, struct mz_error *err)
{
	int ret = setup(in, name ? name : "descriptor", err);
	struct stat st;

	if (ret < 0)
		return ret;
	in->grows = fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0;
	in->budget.bytes = in->grows ? 0 : (uint64_t)st.st_size;
	in->buf = malloc(WINDOW);
	if (!in->buf) {
		mz_input_close(in);
		return mz_fail_memory(err);
	}
	in->cap = WINDOW;
	in->pos = in->end = in->buf;
	in->fd = fd;
	return 0;
}

int mz_input_memory(struct mz_input *in, const void *data, size_t size, const char *name,
		    struct mz_error *err)
{
	int ret;

	if (!data && size)
		return mz_fail(err, EINVAL, "there is no buffer to read from");
	ret = setup(in, name ? name : "memory", err);
	if (ret < 0)
		return ret;
	in->pos = data ? data : ""; /* empty input may be a NULL pointer */
	in->end = in->pos + size;
	in->offset = size;
	in->budget.bytes = size;
	in->eof = true;
	return 0;
}

void mz_input_close(struct mz_input *in)
{
	if (in->own_fd)
		close(in->fd);
	mz_unpack_free(in->unpack);
	free(in->buf);
	free(in->name);
	*in = (struct mz_input){.fd = -1};
}

/* Move the unread bytes to the front, and grow until `want` bytes fit. */
static int make_room(struct mz_input *in, size_t want, struct mz_error *err)
{
	size_t left = mz_input_left(in);

	if (want > in->cap) {
		size_t cap = in->cap;
		char *p;

		while (cap < want)
			cap *= 2;
		p = malloc(cap);
		if (!p)
			return mz_fail_memory(err);
		memcpy(p, in->pos, left);
		free(in->buf);
		in->buf = p;
		in->cap = cap;
	} else if (in->pos != in->buf) {
		memmove(in->buf, in->pos, left);
	}
	in->pos = in->buf;
	in->end = in->buf + left;
	return 0;
}

int mz_input_no_memory(const struct mz_input *in, struct mz_error *err)
{
	const struct mz_mem_budget *b = &in->budget;

	if (!b->refused)
		return mz_fail_memory(err);
	return mz_fail(err, EFBIG,
		       "%s: its %llu bytes need more than the %llu MiB of memory that a file of "
		       "this size may take; if you trust it, use --allow-large",
		       in->name, (unsigned long long)b->bytes,
		       (unsigned long long)mz_mem_limit(b) >> 20);
}

/* The bytes that a packed stream unpacks to are bounded, too, because reading them takes time. */
static ssize_t read_packed(struct mz_input *in, char *to, size_t max, struct mz_error *err)
{
	ssize_t got = mz_unpack_read(in->unpack, to, max, in->name, err);

	if (in->grows)
		in->budget.bytes = mz_unpack_taken(in->unpack);
	if (got > 0 && !mz_mem_passes(&in->budget, in->offset + (uint64_t)got))
		return mz_fail_offset(
			err, EFBIG, in->offset,
			"%s: its %llu bytes unpack to more than %llu MiB, over %u times as much; "
			"if you trust it, use --allow-large",
			in->name, (unsigned long long)in->budget.bytes,
			(unsigned long long)in->offset >> 20, MZ_MEM_FACTOR * MZ_MEM_PASSING);
	return got;
}

/* As read(2), but an error is -errno, with err set. */
static ssize_t read_more(struct mz_input *in, char *to, size_t max, struct mz_error *err)
{
	ssize_t got;

	if (in->unpack)
		return read_packed(in, to, max, err);
	do
		got = read(in->fd, to, max);
	while (got < 0 && errno == EINTR);
	if (in->grows && got > 0)
		in->budget.bytes += (uint64_t)got;
	return got >= 0 ? got
			: mz_fail_offset(err, errno, in->offset, "%s: cannot read: %s", in->name,
					 strerror(errno));
}

/* At least n bytes are made available unless the stream ends first; the caller compares
 * mz_input_left() with n. The bytes in the window stay contiguous. */
int mz_input_fill(struct mz_input *in, size_t n, struct mz_error *err)
{
	int ret;

	if (mz_input_left(in) >= n || in->eof)
		return 0;
	ret = make_room(in, n, err);
	if (ret < 0)
		return ret;
	while (mz_input_left(in) < n) {
		char *tail = in->buf + (in->end - in->buf);
		ssize_t got = read_more(in, tail, in->cap - (size_t)(tail - in->buf), err);

		if (got < 0)
			return (int)got;
		if (!got) {
			in->eof = true;
			break;
		}
		in->end = tail + got;
		in->offset += (uint64_t)got;
	}
	return 0;
}

/* The packed bytes that were already read go to the decompressor; from then on the window
 * holds unpacked bytes, and offsets count those. */
int mz_input_unpack(struct mz_input *in, struct mz_error *err)
{
	int ret = mz_input_fill(in, 4, err);

	if (ret < 0 || !mz_unpack_probe(in->pos, mz_input_left(in)))
		return ret;
	in->unpack = mz_unpack_new(in->fd, in->pos, mz_input_left(in));
	if (in->unpack && !in->buf) { /* it was memory */
		in->buf = malloc(WINDOW);
		in->cap = WINDOW;
	}
	if (!in->unpack || !in->buf)
		return mz_fail_memory(err);
	in->pos = in->end = in->buf;
	in->offset = 0;
	in->eof = false;
	return 0;
}

/* CR LF is accepted everywhere: traces come from other systems and through mail. */
static int take_line(struct mz_input *in, const char *nl, const char **line, size_t *len)
{
	size_t n = (size_t)(nl - in->pos);

	*line = in->pos;
	in->pos = nl < in->end ? nl + 1 : nl;
	*len = n && (*line)[n - 1] == '\r' ? n - 1 : n;
	return 1;
}

/* The search continues where it stopped after each refill, so that a long line is not scanned
 * again from its start. The limit keeps a binary file from being read as one endless line. */
int mz_input_line(struct mz_input *in, const char **line, size_t *len, struct mz_error *err)
{
	size_t seen = 0;

	for (;;) {
		const char *nl = memchr(in->pos + seen, '\n', mz_input_left(in) - seen);
		int ret;

		if (nl)
			return take_line(in, nl, line, len);
		seen = mz_input_left(in);
		if (in->eof)
			return seen ? take_line(in, in->end, line, len) : 0;
		if (seen >= MZ_LINE_MAX)
			return mz_fail_offset(err, EINVAL, mz_input_tell(in),
					      "%s: byte %llu: a line of more than %u bytes; this "
					      "is not a text trace",
					      in->name, (unsigned long long)mz_input_tell(in),
					      MZ_LINE_MAX);
		ret = mz_input_fill(in, seen + 1, err);
		if (ret < 0)
			return ret;
	}
}
