/* SPDX-License-Identifier: BSD-2-Clause */
/* Where this program lies: other parts of the installation are found from there. */
#ifndef MZ_BASE_SELF_H
#define MZ_BASE_SELF_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the program without its last `up` components: 0 the program, 1 its folder, 2 the
 * prefix (or the build folder). False = unknown, and path is empty. */
bool mz_self_path(char *path, size_t size, unsigned up);

#endif
