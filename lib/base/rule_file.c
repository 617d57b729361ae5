// SPDX-License-Identifier: BSD-2-Clause
/* Read files of rules line by line. */
#include "base/rule_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

int mz_rule_file_read(const char *path, mz_rule_take *take, void *arg, struct mz_error *err)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	int ret = 0;

	if (!f)
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	for (unsigned number = 1; !ret && fgets(line, sizeof(line), f); number++) {
		size_t n = strcspn(line, "#\r\n");

		while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
			n--;
		line[n] = '\0';
		if (n)
			ret = take(arg, line, path, number, err);
	}
	if (!ret && ferror(f))
		ret = mz_fail(err, EIO, "%s: cannot be read", path);
	fclose(f);
	return ret;
}
