// SPDX-License-Identifier: BSD-2-Clause
/* Open a file only if it is a regular one. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int mz_open_regular(const char *path, struct stat *st)
{
	/* opening some devices does something; O_PATH opens nothing but the name */
	int name = open(path, O_PATH | O_CLOEXEC), fd;
	struct stat seen, own;

	if (name < 0)
		return -1;
	if (fstat(name, &seen) || !S_ISREG(seen.st_mode)) {
		close(name);
		errno = EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(name);
	if (fd >= 0 && (fstat(fd, &own) || !S_ISREG(own.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	if (fd >= 0 && st)
		*st = own;
	return fd;
}

FILE *mz_fopen_regular(const char *path)
{
	int fd = mz_open_regular(path, NULL), code;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	code = errno;
	if (!f && fd >= 0)
		close(fd);
	errno = code;
	return f;
}
