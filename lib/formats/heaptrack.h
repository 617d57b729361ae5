/* SPDX-License-Identifier: BSD-2-Clause */
/* heaptrack's files, as heaptrack_interpret writes them: versions 1 to 3, plain or compressed. */
/*
 * lib/export/heaptrack.c lists the kinds of lines. Blocks have no addresses there: a free only
 * names a sort of blocks (stack and size), and is taken to free the newest block of that sort.
 */
#ifndef MZ_FORMATS_HEAPTRACK_H
#define MZ_FORMATS_HEAPTRACK_H

#include "trace/reader.h"

bool mz_heaptrack_probe(const char *data, size_t len);
extern const struct mz_reader_ops mz_heaptrack_reader_ops;

#endif
