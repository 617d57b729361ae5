// SPDX-License-Identifier: BSD-2-Clause
/* Write files that appear whole: under a temporary name, synced, then renamed. */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"

/* ---- names -------------------------------------------------------------- */

static char *part_name(const char *path)
{
	size_t n = strlen(path) + sizeof(".part");
	char *part = malloc(n);

	if (part)
		snprintf(part, n, "%s.part", path);
	return part;
}

/* The folder of a path. A path that could be opened fits. */
static void folder_name(const char *path, char *folder, size_t size)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;

	snprintf(folder, size, "%.*s", (int)n, slash ? path : ".");
}

/* ---- what is there already ---------------------------------------------- */

static int in_use(const char *path, const char *part, struct mz_error *err)
{
	return mz_fail(err, EBUSY, "%s: another process is writing it (%s); choose another name",
		       path, part);
}

/* May the PATH.part that is open as fd be removed? Holds its lock on success. The file of
 * another user is never touched, because its owner can still write to it. */
static int judge_leftover(int fd, const char *path, const char *part, bool overwrite,
			  struct mz_error *err)
{
	struct stat open, there;

	if (fstat(fd, &open))
		return mz_fail(err, errno, "%s: cannot examine it: %s", part, strerror(errno));
	if (!S_ISREG(open.st_mode) || open.st_uid != geteuid())
		return mz_fail(err, EEXIST,
			       "%s: exists and belongs to another user, or is not a regular file; "
			       "remove it, or choose another name",
			       part);
	if (flock(fd, LOCK_EX | LOCK_NB))
		return in_use(path, part, err);
	/* it may have become the finished file since it was opened */
	if (lstat(part, &there) || open.st_ino != there.st_ino || open.st_dev != there.st_dev)
		return in_use(path, part, err);
	if (!overwrite)
		return mz_fail(err, EEXIST,
			       "%s: left by a writer that was stopped; move it away, or use -f to "
			       "replace it",
			       part);
	return 0;
}

/* 1: *fd is the leftover with its lock; 0: there is none; or -errno. */
static int open_leftover(const char *path, const char *part, bool overwrite, int *fd,
			 struct mz_error *err)
{
	int ret;

	*fd = open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0 && errno == ENOENT)
		return 0;
	if (*fd < 0)
		return mz_fail(err, errno, "%s: exists and cannot be opened: %s", part,
			       strerror(errno));
	ret = judge_leftover(*fd, path, part, overwrite, err);
	if (ret < 0) {
		close(*fd);
		return ret;
	}
	return 1;
}

/* In a folder like /tmp only the owner of a file may replace it. The rename would fail
 * as well, but only when all the work is done. */
static int may_replace(const char *path, const struct stat *st, struct mz_error *err)
{
	char folder[PATH_MAX];
	struct stat dir;
	bool barred;

	folder_name(path, folder, sizeof(folder));
	barred = !stat(folder, &dir) && (dir.st_mode & S_ISVTX) && geteuid() &&
		 st->st_uid != geteuid() && dir.st_uid != geteuid();
	if (barred)
		return mz_fail(err, EPERM, "%s: belongs to another user; choose another name",
			       path);
	return 0;
}

/* Did another user put this name into a folder that others can write to? The owner of the folder
 * may do so, and root. The kernel has the same rule for links in such folders. */
static bool is_planted(const char *path, const struct stat *entry)
{
	char folder[PATH_MAX];
	struct stat dir;

	if (!entry->st_uid || entry->st_uid == geteuid())
		return false;
	folder_name(path, folder, sizeof(folder));
	return stat(folder, &dir) ||
	       (dir.st_mode & (S_IWGRP | S_IWOTH) && entry->st_uid != dir.st_uid);
}

static int planted(const char *path, struct mz_error *err)
{
	return mz_fail(err, EPERM, "%s: another user put it there; choose another name", path);
}

/* The path is not a regular file: 1 = write to it. */
static int judge_special(const char *path, unsigned how, struct mz_error *err)
{
	struct stat entry;

	if (how & MZ_FILE_REGULAR)
		return mz_fail(err, EEXIST, "%s: exists and is not a regular file", path);
	if (lstat(path, &entry) || is_planted(path, &entry))
		return planted(path, err);
	return 1;
}

/* 0: a temporary file is to be made; 1: PATH is written directly; -errno. */
static int judge_path(const char *path, unsigned how, struct mz_error *err)
{
	struct stat st;
	/* a link that leads nowhere is in the way, too */
	bool special = !stat(path, &st) && !S_ISREG(st.st_mode);

	if (special && S_ISDIR(st.st_mode))
		return mz_fail(err, EISDIR, "%s: is a directory; name a file", path);
	if (special)
		return judge_special(path, how, err);
	if (lstat(path, &st))
		return 0;
	if (!(how & MZ_FILE_REPLACE))
		return mz_fail(err, EEXIST, "%s: exists; use -f to replace it, or another name",
			       path);
	return may_replace(path, &st, err);
}

/* Report a folder that cannot be written to before hours of recording, not after them. The
 * effective user counts: a privileged recorder must not promise what open() would refuse. */
static int check_folder(const char *path, struct mz_error *err)
{
	char folder[PATH_MAX];
	int ret = 0;

	folder_name(path, folder, sizeof(folder));
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS))
		ret = mz_fail(err, errno, "%s: cannot create: %s", path, strerror(errno));
	return ret;
}

/* The same decisions as an open, without creating anything: verbs call it before long work, so
 * that an existing file or a foreign .part is reported at the start. */
int mz_atomic_file_check(const char *path, unsigned how, struct mz_error *err)
{
	int ret = judge_path(path, how, err), fd;
	char *part;

	if (ret)
		return ret < 0 ? ret : 0;
	part = part_name(path);
	if (!part)
		return mz_fail_memory(err);
	ret = open_leftover(path, part, how & MZ_FILE_REPLACE, &fd, err);
	free(part);
	if (ret > 0)
		close(fd);
	return ret < 0 ? ret : check_folder(path, err);
}

/* ---- opening ------------------------------------------------------------ */

static int create(struct mz_atomic_file *f)
{
	f->fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return f->fd < 0 ? -errno : 0;
}

/* The leftover goes, and its lock is kept until the new file is there: of two writers
 * that replace it at the same time one is refused. */
static int replace_leftover(struct mz_atomic_file *f, struct mz_error *err)
{
	int old, ret = open_leftover(f->path, f->part, f->how & MZ_FILE_REPLACE, &old, err);

	if (!ret) /* it went just now: the other writer's file is finished */
		return in_use(f->path, f->part, err);
	if (ret < 0)
		return ret;
	ret = unlink(f->part) ? -errno : create(f);
	close(old);
	if (ret < 0)
		return mz_fail(err, -ret, "%s: cannot replace it: %s", f->part, strerror(-ret));
	return 0;
}

/* The lock distinguishes a second writer from a leftover: a leftover has no owner, so its lock is
 * free. */
static int open_part(struct mz_atomic_file *f, struct mz_error *err)
{
	int ret;

	f->part = part_name(f->path);
	if (!f->part)
		return mz_fail_memory(err);
	ret = create(f);
	if (ret == -EEXIST)
		ret = replace_leftover(f, err);
	else if (ret < 0)
		mz_fail(err, -ret, "%s: cannot create: %s", f->path, strerror(-ret));
	if (!ret && flock(f->fd, LOCK_EX | LOCK_NB))
		ret = in_use(f->path, f->part, err);
	return ret;
}

/* Devices and pipes are opened directly: they cannot be renamed into place. The name may have
 * become another one's since it was judged, so what it is now is held first, judged again, and
 * opened through that. */
static int open_special(struct mz_atomic_file *f, struct mz_error *err)
{
	int held = open(f->path, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret = 0;
	struct stat entry;
	char link[32];

	if (held >= 0 &&
	    (fstat(held, &entry) || S_ISREG(entry.st_mode) || is_planted(f->path, &entry))) {
		close(held);
		return planted(f->path, err);
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
	if (held >= 0)
		f->fd = open(S_ISLNK(entry.st_mode) ? f->path : link, O_WRONLY | O_CLOEXEC);
	if (f->fd < 0)
		ret = mz_fail(err, errno, "%s: cannot open for writing: %s", f->path,
			      strerror(errno));
	if (held >= 0)
		close(held);
	return ret;
}

static int open_named(struct mz_atomic_file *f, struct mz_error *err)
{
	int ret = judge_path(f->path, f->how, err);

	if (ret < 0)
		return ret;
	return ret ? open_special(f, err) : open_part(f, err);
}

int mz_atomic_file_open(struct mz_atomic_file *f, const char *path, unsigned how,
			struct mz_error *err)
{
	int ret;

	*f = (struct mz_atomic_file){.fd = -1, .how = how};
	f->path = strdup(path);
	if (!f->path)
		return mz_fail_memory(err);
	ret = open_named(f, err);
	if (ret < 0)
		mz_atomic_file_leave(f); /* whatever is there is not ours */
	return ret;
}

/* A duplicate is kept, so that closing it here does not close the caller's descriptor. */
int mz_atomic_file_fd(struct mz_atomic_file *f, int fd, const char *name, struct mz_error *err)
{
	*f = (struct mz_atomic_file){.fd = -1};
	f->path = strdup(name);
	if (!f->path)
		return mz_fail_memory(err);
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (f->fd < 0) {
		int ret = mz_fail(err, errno, "%s: cannot write: %s", name, strerror(errno));

		mz_atomic_file_leave(f);
		return ret;
	}
	return 0;
}

/* ---- writing ------------------------------------------------------------ */

static int fail(const struct mz_atomic_file *f, int code, const char *what, struct mz_error *err)
{
	bool kept = f->keeps && f->part;

	return mz_fail(err, code, "%s: cannot %s: %s%s%s%s", f->path, what, strerror(code),
		       kept ? "; the complete part is in " : "", kept ? f->part : "",
		       code == ENOSPC ? "; make room" : "");
}

static int write_failed(struct mz_atomic_file *f, int code, struct mz_error *err)
{
	/* no half append at the end of a file */
	if (f->part && ftruncate(f->fd, (off_t)f->size))
		code = errno;
	return fail(f, code, "write", err);
}

/* Head and payload go out in one writev(), so that a full disk cuts a block as late as
 * possible. A short write is continued at the byte where it stopped. */
int mz_atomic_file_append(struct mz_atomic_file *f, const void *a, size_t na, const void *b,
			  size_t nb, struct mz_error *err)
{
	struct iovec iov[2] = {{(void *)a, na}, {(void *)b, nb}};
	size_t left = na + nb;

	while (left) {
		ssize_t w = writev(f->fd, iov, 2);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return write_failed(f, errno, err);
		left -= (size_t)w;
		for (int i = 0; i < 2; i++) {
			size_t used = (size_t)w < iov[i].iov_len ? (size_t)w : iov[i].iov_len;

			if (used)
				iov[i].iov_base = (char *)iov[i].iov_base + used;
			iov[i].iov_len -= used;
			w -= (ssize_t)used;
		}
	}
	f->size += na + nb;
	return 0;
}

int mz_atomic_file_replace(struct mz_atomic_file *f, uint64_t offset, const void *data, size_t n,
			   struct mz_error *err)
{
	const char *from = data;

	while (n) {
		ssize_t w = pwrite(f->fd, from, n, (off_t)offset);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return fail(f, errno, "write", err);
		from += w;
		offset += (uint64_t)w;
		n -= (size_t)w;
	}
	return 0;
}

/* ---- the end ------------------------------------------------------------ */

/* Give the finished file its name, without replacing one that appeared since. */
static int take_name(struct mz_atomic_file *f, struct mz_error *err)
{
	int ret;

	if (f->how & MZ_FILE_REPLACE)
		ret = rename(f->part, f->path);
	else
		ret = renameat2(AT_FDCWD, f->part, AT_FDCWD, f->path, RENAME_NOREPLACE);
	if (ret && !(f->how & MZ_FILE_REPLACE) && (errno == EINVAL || errno == ENOSYS)) {
		/* a file system without that flag: a link does not replace either */
		ret = link(f->part, f->path);
		if (!ret)
			unlink(f->part);
	}
	if (ret)
		return fail(f, errno, "give the finished file its name", err);
	free(f->part);
	f->part = NULL;
	return 0;
}

/* Some file systems report a failed write only here. A copy of the descriptor keeps the
 * lock until the file has its name. */
static int close_checked(struct mz_atomic_file *f, struct mz_error *err)
{
	int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 3), fd = f->fd;

	if (copy < 0)
		return fail(f, errno, "close", err);
	f->fd = copy;
	if (close(fd))
		return fail(f, errno, "write", err);
	return 0;
}

/* The new name is in the folder, and must reach the disk as well. A folder that may be
 * written and not read has no descriptor to sync, and some file systems cannot sync
 * folders: nothing more can be done there. */
static int sync_folder(const struct mz_atomic_file *f, const char *folder, struct mz_error *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;

	if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
		ret = mz_fail(err, errno,
			      "%s: is written, but its folder cannot be synced: %s; a power "
			      "failure may lose it",
			      f->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The order makes the promise true: the data reaches the disk, then close() has its last
 * chance to fail, then the file gets its name, and then the folder is synced so that the name
 * survives a power failure. */
static int finish(struct mz_atomic_file *f, struct mz_error *err)
{
	char folder[PATH_MAX];
	int ret;

	if (!f->part)
		return close_checked(f, err);
	/* no memory is allocated: of several files, those before this one have their names
	 * already */
	folder_name(f->path, folder, sizeof(folder));
	ret = fsync(f->fd) ? fail(f, errno, "write to the disk", err) : close_checked(f, err);
	if (!ret)
		ret = take_name(f, err);
	if (!ret)
		ret = sync_folder(f, folder, err);
	return ret;
}

int mz_atomic_file_commit(struct mz_atomic_file *f, struct mz_error *err)
{
	int ret = finish(f, err);

	if (!ret)
		mz_atomic_file_leave(f);
	return ret;
}

void mz_atomic_file_leave(struct mz_atomic_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->part);
	free(f->path);
	*f = (struct mz_atomic_file){.fd = -1};
}

void mz_atomic_file_abort(struct mz_atomic_file *f)
{
	if (f->part)
		unlink(f->part);
	mz_atomic_file_leave(f);
}
