// SPDX-License-Identifier: BSD-2-Clause
/* Find the path of the running program. */
#include "base/self.h"

#include <string.h>
#include <unistd.h>

bool mz_self_path(char *path, size_t size, unsigned up)
{
	/* the kernel's own link: argv[0] and PATH can say anything */
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	bool found = n > 0;

	path[found ? n : 0] = '\0';
	for (unsigned i = 0; i < up && found; i++) {
		char *slash = strrchr(path, '/');

		found = slash != NULL;
		*(found ? slash : path) = '\0';
	}
	return found;
}
