/* SPDX-License-Identifier: BSD-2-Clause */
/* What a person reads first about a KMAP. */
#ifndef MZ_CMDS_KMAP_KMAP_REPORT_H
#define MZ_CMDS_KMAP_KMAP_REPORT_H

#include "analysis/kmap.h"

struct mz_json;

/* The figures of the JSON, into an open object. */
void kmap_report_figures(struct mz_json *j, const struct mz_kmap_model *m);

/* To standard output; returns enum mz_exit. */
int kmap_report(const struct mz_kmap_model *m, const char *path, size_t top, bool json);

#endif
