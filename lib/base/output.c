// SPDX-License-Identifier: BSD-2-Clause
/* Write a file under a temporary name and rename it when it is complete. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int open_temp(struct mz_output *out, struct mz_error *err)
{
	size_t n = strlen(out->path) + 32;

	out->temp = malloc(n);
	if (!out->temp)
		return mz_fail_memory(err);
	for (unsigned try = 0; try < 100; try++) {
		snprintf(out->temp, n, "%s.%u-%u.part", out->path, (unsigned)getpid(), try);
		out->fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (out->fd >= 0 || errno != EEXIST)
			break;
	}
	if (out->fd < 0) {
		int code = errno;

		free(out->temp);
		out->temp = NULL;
		return mz_fail(err, code, "%s: cannot create: %s", out->path, strerror(code));
	}
	return 0;
}

static int open_path(struct mz_output *out, struct mz_error *err)
{
	struct stat st;

	if (stat(out->path, &st))
		return open_temp(out, err);
	if (S_ISDIR(st.st_mode))
		return mz_fail(err, EISDIR, "%s: is a directory; name a file", out->path);
	if (S_ISREG(st.st_mode)) {
		if (!out->overwrite)
			return mz_fail(err, EEXIST, "%s: exists; use -f to replace it, or another name",
				       out->path);
		return open_temp(out, err);
	}
	out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
	if (out->fd < 0)
		return mz_fail(err, errno, "%s: cannot open for writing: %s", out->path,
			       strerror(errno));
	return 0;
}

int mz_output_open(struct mz_output *out, const char *path, bool overwrite, struct mz_error *err)
{
	bool to_stdout = !path || !strcmp(path, "-");
	int ret = 0;

	*out = (struct mz_output){.fd = -1, .overwrite = overwrite};
	out->path = strdup(to_stdout ? "standard output" : path);
	out->buf = malloc(MZ_OUTPUT_ROOM);
	out->cap = MZ_OUTPUT_ROOM;
	if (!out->path || !out->buf)
		ret = mz_fail_memory(err);
	else if (to_stdout)
		out->fd = STDOUT_FILENO;
	else
		ret = open_path(out, err);
	if (ret < 0)
		mz_output_abort(out);
	return ret;
}

static int write_all(struct mz_output *out, const char *p, size_t n, struct mz_error *err)
{
	while (n) {
		ssize_t w = write(out->fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return mz_fail(err, errno, "%s: cannot write: %s", out->path, strerror(errno));
		p += w;
		n -= (size_t)w;
		out->written += (uint64_t)w;
	}
	return 0;
}

int mz_output_flush(struct mz_output *out, struct mz_error *err)
{
	size_t n = out->len;

	out->len = 0;
	return write_all(out, out->buf, n, err);
}

char *mz_output_room(struct mz_output *out, size_t n, struct mz_error *err)
{
	if (n > out->cap - out->len && mz_output_flush(out, err) < 0)
		return NULL;
	return out->buf + out->len;
}

int mz_output_add(struct mz_output *out, const void *data, size_t n, struct mz_error *err)
{
	if (n > out->cap - out->len) {
		int ret = mz_output_flush(out, err);

		if (ret < 0)
			return ret;
		if (n >= out->cap)
			return write_all(out, data, n, err);
	}
	memcpy(out->buf + out->len, data, n);
	out->len += n;
	return 0;
}

/* Give the finished file its name, without replacing one that appeared since. */
static int take_name(struct mz_output *out, struct mz_error *err)
{
	int ret;

	if (out->overwrite)
		ret = rename(out->temp, out->path);
	else
		ret = renameat2(AT_FDCWD, out->temp, AT_FDCWD, out->path, RENAME_NOREPLACE);
	if (ret && !out->overwrite && (errno == EINVAL || errno == ENOSYS)) {
		/* a file system without that flag: a link does not replace either */
		ret = link(out->temp, out->path);
		if (!ret)
			unlink(out->temp);
	}
	if (ret)
		return mz_fail(err, errno, "%s: cannot give the finished file its name: %s", out->path,
			       strerror(errno));
	free(out->temp);
	out->temp = NULL;
	return 0;
}

int mz_output_commit(struct mz_output *out, struct mz_error *err)
{
	int ret = mz_output_flush(out, err);

	if (!ret && out->fd != STDOUT_FILENO) {
		int fd = out->fd;

		out->fd = -1;
		if (close(fd))
			ret = mz_fail(err, errno, "%s: cannot write: %s", out->path, strerror(errno));
	}
	if (!ret && out->temp)
		ret = take_name(out, err);
	mz_output_abort(out);
	return ret;
}

void mz_output_abort(struct mz_output *out)
{
	if (out->fd >= 0 && out->fd != STDOUT_FILENO)
		close(out->fd);
	if (out->temp)
		unlink(out->temp);
	free(out->temp);
	free(out->path);
	free(out->buf);
	*out = (struct mz_output){.fd = -1};
}
