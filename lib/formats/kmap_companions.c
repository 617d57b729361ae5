// SPDX-License-Identifier: BSD-2-Clause
/* Find and open the files that belong to a KMAP, by their names. */
#include "formats/kmap_companions.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/regular.h"
#include "formats/kmap.h"

/* The length of the map's path without the suffixes of its kind and compression. */
static size_t stem_of(const char *map)
{
	static const char *const ends[] = {".zst", ".gz", ".kmap"};
	size_t len = strlen(map);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t e = strlen(ends[i]);

		if (len > e && !memcmp(map + len - e, ends[i], e))
			len -= e;
	}
	return len;
}

/* The name of the map comes first. The fixed names are those of the kernel's own folder, and belong
 * to a map only if it still has its name there. */
int mz_kmap_open_beside(const char *map, const char *end, const char *const names[2], char *path,
			size_t size)
{
	const char *slash = strrchr(map, '/'), *name = slash ? slash + 1 : map;
	int fd = -1;

	if ((size_t)snprintf(path, size, "%.*s%s", (int)stem_of(map), map, end) < size)
		fd = mz_open_regular(path, NULL);
	for (size_t i = 0; i < 2 && fd < 0 && !strcmp(name, "kmap"); i++)
		if ((size_t)snprintf(path, size, "%.*s%s", (int)(name - map), map, names[i]) < size)
			fd = mz_open_regular(path, NULL);
	return fd;
}

int mz_kmap_calls_beside(const char *map, struct mz_kmap **calls, struct mz_error *err)
{
	static const char *const names[2] = {"function_calls", "cfgmap"};
	char path[PATH_MAX];
	struct mz_input in;
	int fd = mz_kmap_open_beside(map, ".calls", names, path, sizeof(path));
	int ret;

	*calls = NULL;
	if (fd < 0)
		return 0;
	ret = mz_input_fd(&in, fd, path, err);
	if (ret < 0) {
		close(fd);
		return ret;
	}
	/* from here on, closing the input closes the descriptor */
	in.own_fd = true;
	*calls = mz_kmap_open_input(&in, err);
	return *calls ? 1 : mz_error_code(err);
}
