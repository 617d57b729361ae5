// SPDX-License-Identifier: BSD-2-Clause
/* Read files of rules line by line. */
#include "base/rule_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* A line as it is in the file, or -errno: one that does not fit would be two rules, and a
 * zero byte would hide what is behind it. Such files are no rules: /dev/zero has no end. */
static int check_line(const char *line, size_t size, FILE *f, const char *path, unsigned number,
		      struct mz_error *err)
{
	size_t n = strlen(line);

	if (n && line[n - 1] == '\n')
		return 0;
	if (n == size - 1)
		return mz_fail(err, EINVAL, "%s: line %u: longer than %zu bytes", path, number,
			       size - 2);
	return feof(f) ? 0
		       : mz_fail(err, EINVAL, "%s: line %u: a zero byte; this is not a text file",
				 path, number);
}

int mz_rule_file_read(const char *path, mz_rule_take *take, void *arg, struct mz_error *err)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	int ret = 0;

	if (!f)
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	for (unsigned number = 1; !ret && fgets(line, sizeof(line), f); number++) {
		size_t n = strcspn(line, "#\r\n");

		ret = check_line(line, sizeof(line), f, path, number, err);
		while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
			n--;
		line[n] = '\0';
		if (n && !ret)
			ret = take(arg, line, path, number, err);
	}
	if (!ret && ferror(f))
		ret = mz_fail(err, EIO, "%s: cannot be read", path);
	fclose(f);
	return ret;
}
