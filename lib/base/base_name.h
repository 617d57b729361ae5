/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of a file without its folders, which differ between machines. */
#ifndef MZ_BASE_BASE_NAME_H
#define MZ_BASE_BASE_NAME_H

#include <string.h>

/* NULL of NULL. */
static inline const char *mz_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

#endif
