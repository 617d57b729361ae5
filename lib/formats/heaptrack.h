/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack's files, as heaptrack_interpret leaves them: versions 1 to 3, plain or packed.
 * lib/export/heaptrack.c has the lines. Blocks have no addresses there: a free names a sort of
 * blocks (stack and size), and the newest block of the sort is taken to be the one.
 */
#ifndef MZ_FORMATS_HEAPTRACK_H
#define MZ_FORMATS_HEAPTRACK_H

#include "trace/reader.h"

bool mz_heaptrack_probe(const char *data, size_t len);
extern const struct mz_reader_ops mz_heaptrack_reader_ops;

#endif
