/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening files whose names come out of a recording, or that lie beside one. */
#ifndef MZ_BASE_REGULAR_H
#define MZ_BASE_REGULAR_H

#include <stdio.h>
#include <sys/stat.h>

/* Open a regular file to read: a descriptor, or -1 with errno (EINVAL: it is something
 * else). Never waits and starts nothing: a FIFO or a device is not opened for reading.
 * st, if not NULL, is that of the file. */
int mz_open_regular(const char *path, struct stat *st);

/* The same as a stream; NULL with errno. */
FILE *mz_fopen_regular(const char *path);

#endif
