// SPDX-License-Identifier: BSD-2-Clause
/* Compute the digest of a recording: what makes it the same one when it is sent again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/regular.h"
#include "base/sha256.h"
#include "store/item.h"

/*
 * In pieces of a megabyte: a recording may be larger than the memory. Only regular files: a FIFO in
 * a folder of recordings would block the sender forever.
 */
static int add_file(struct mz_sha256 *s, const char *path, struct mz_error *err)
{
	int fd = mz_open_regular(path, NULL);
	char *buf = malloc(1 << 20);
	ssize_t n = -1;
	int ret = 0;

	if (fd >= 0 && buf)
		while ((n = read(fd, buf, 1 << 20)) > 0)
			mz_sha256_add(s, buf, (size_t)n);
	free(buf);
	if (!buf)
		ret = mz_fail_memory(err);
	else if (n < 0)
		ret = mz_fail(err, errno, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

/*
 * A recording of a kernel is a folder. Names are part of the digest, and sorted, so that it
 * does not depend on the order in which the file system lists them.
 */
static int add_folder(struct mz_sha256 *s, const char *path, struct mz_error *err)
{
	struct dirent **list;
	int n = scandir(path, &list, NULL, alphasort), ret = 0;

	if (n < 0)
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *file = NULL;
		struct stat st;

		if (!ret && asprintf(&file, "%s/%s", path, list[i]->d_name) < 0)
			ret = mz_fail_memory(err);
		if (!ret && !stat(file, &st) && S_ISREG(st.st_mode)) {
			mz_sha256_add(s, list[i]->d_name, strlen(list[i]->d_name) + 1);
			ret = add_file(s, file, err);
		}
		free(file);
		free(list[i]);
	}
	free(list);
	return ret;
}

int mz_store_digest(const char *path, unsigned char out[32], struct mz_error *err)
{
	struct mz_sha256 s;
	struct stat st;
	int ret;

	if (stat(path, &st))
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	mz_sha256_init(&s);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return mz_fail(err, EINVAL,
			       "%s: what is added is read twice, so it must be a file; save it to "
			       "one first",
			       path);
	ret = S_ISDIR(st.st_mode) ? add_folder(&s, path, err) : add_file(&s, path, err);
	mz_sha256_end(&s, out);
	return ret;
}
