// SPDX-License-Identifier: BSD-2-Clause
/* Write PATH.part under a lock and rename it to PATH when it is complete. */
#include "trace/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"

static int in_use(struct mz_part *p, struct mz_error *err)
{
	return mz_fail(err, EBUSY, "%s: another writer is at work on it (%s); choose another name",
		       p->path, p->part);
}

/* What a writer left that was killed: kept, unless it may be replaced. */
static int take_over(struct mz_part *p, struct mz_error *err)
{
	struct stat mine, there;

	p->fd = open(p->part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (p->fd < 0)
		return mz_fail(err, errno, "%s: cannot open: %s", p->part, strerror(errno));
	if (flock(p->fd, LOCK_EX | LOCK_NB))
		return in_use(p, err);
	/* it may have become the finished file since */
	if (fstat(p->fd, &mine) || lstat(p->part, &there) || mine.st_ino != there.st_ino ||
	    mine.st_dev != there.st_dev)
		return in_use(p, err);
	if (!p->overwrite)
		return mz_fail(err, EEXIST,
			       "%s: left by a writer that was stopped, and readable as it is; move it "
			       "away, or use -f to replace it",
			       p->part);
	if (ftruncate(p->fd, 0))
		return mz_fail(err, errno, "%s: cannot empty it: %s", p->part, strerror(errno));
	return 0;
}

static int open_part(struct mz_part *p, struct mz_error *err)
{
	size_t n = strlen(p->path) + sizeof(".part");

	p->part = malloc(n);
	if (!p->part)
		return mz_fail_memory(err);
	snprintf(p->part, n, "%s.part", p->path);
	p->fd = open(p->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->fd < 0 && errno == EEXIST)
		return take_over(p, err);
	if (p->fd < 0)
		return mz_fail(err, errno, "%s: cannot create: %s", p->part, strerror(errno));
	if (flock(p->fd, LOCK_EX | LOCK_NB))
		return in_use(p, err);
	return 0;
}

static int open_named(struct mz_part *p, struct mz_error *err)
{
	struct stat st;

	if (stat(p->path, &st))
		return open_part(p, err);
	if (S_ISDIR(st.st_mode))
		return mz_fail(err, EISDIR, "%s: is a directory; name a file", p->path);
	if (S_ISREG(st.st_mode) && !p->overwrite)
		return mz_fail(err, EEXIST, "%s: exists; use -f to replace it, or another name",
			       p->path);
	if (S_ISREG(st.st_mode))
		return open_part(p, err);
	p->fd = open(p->path, O_WRONLY | O_CLOEXEC);
	if (p->fd < 0)
		return mz_fail(err, errno, "%s: cannot open for writing: %s", p->path,
			       strerror(errno));
	return 0;
}

int mz_part_open(struct mz_part *p, const char *path, bool overwrite, struct mz_error *err)
{
	int ret;

	*p = (struct mz_part){.fd = -1, .overwrite = overwrite};
	p->path = strdup(path);
	if (!p->path)
		return mz_fail_memory(err);
	ret = open_named(p, err);
	if (ret < 0)
		mz_part_leave(p); /* whatever is there is not ours */
	return ret;
}

int mz_part_fd(struct mz_part *p, int fd, const char *name, struct mz_error *err)
{
	*p = (struct mz_part){.fd = -1};
	p->path = strdup(name);
	if (!p->path)
		return mz_fail_memory(err);
	p->fd = dup(fd);
	if (p->fd < 0) {
		int ret = mz_fail(err, errno, "%s: cannot use it: %s", name, strerror(errno));

		mz_part_leave(p);
		return ret;
	}
	return 0;
}

int mz_part_append(struct mz_part *p, const void *a, size_t na, const void *b, size_t nb,
		   struct mz_error *err)
{
	struct iovec iov[2] = {{(void *)a, na}, {(void *)b, nb}};
	size_t left = na + nb;

	while (left) {
		ssize_t w = writev(p->fd, iov, 2);
		int code = errno;

		if (w < 0 && code == EINTR)
			continue;
		if (w < 0) {
			/* no half block at the end of a file */
			if (p->part && ftruncate(p->fd, (off_t)p->size))
				code = errno;
			return mz_fail(err, code, "%s: cannot write: %s%s%s%s", p->path,
				       strerror(code), p->part ? "; what is whole is in " : "",
				       p->part ? p->part : "", code == ENOSPC ? "; make room" : "");
		}
		left -= (size_t)w;
		for (int i = 0; i < 2; i++) {
			size_t used = (size_t)w < iov[i].iov_len ? (size_t)w : iov[i].iov_len;

			iov[i].iov_base = (char *)iov[i].iov_base + used;
			iov[i].iov_len -= used;
			w -= (ssize_t)used;
		}
	}
	p->size += na + nb;
	return 0;
}

static int take_name(struct mz_part *p, struct mz_error *err)
{
	int ret;

	if (p->overwrite)
		ret = rename(p->part, p->path);
	else
		ret = renameat2(AT_FDCWD, p->part, AT_FDCWD, p->path, RENAME_NOREPLACE);
	if (ret && !p->overwrite && (errno == EINVAL || errno == ENOSYS)) {
		/* a file system without that flag: a link does not replace either */
		ret = link(p->part, p->path);
		if (!ret)
			unlink(p->part);
	}
	if (ret)
		return mz_fail(err, errno, "%s: cannot give the finished file its name: %s; it is in %s",
			       p->path, strerror(errno), p->part);
	return 0;
}

int mz_part_commit(struct mz_part *p, struct mz_error *err)
{
	int ret = p->part ? take_name(p, err) : 0;

	if (!ret)
		mz_part_leave(p);
	return ret;
}

void mz_part_leave(struct mz_part *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->part);
	free(p->path);
	*p = (struct mz_part){.fd = -1};
}

void mz_part_abort(struct mz_part *p)
{
	if (p->part)
		unlink(p->part);
	mz_part_leave(p);
}
