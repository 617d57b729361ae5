/* SPDX-License-Identifier: BSD-2-Clause */
/* Exports that are compressed as a whole. */
#ifndef MZ_EXPORT_GZIP_H
#define MZ_EXPORT_GZIP_H

#include "base/output.h"

/* Writes the data to the output in gzip's format. 0 or -errno with err set. */
int mz_gzip_put(struct mz_output *out, const void *data, size_t n, struct mz_error *err);

#endif
