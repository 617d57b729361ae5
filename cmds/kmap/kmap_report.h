/* SPDX-License-Identifier: BSD-2-Clause */
/* The overview of a KMAP. */
#ifndef MZ_CMDS_KMAP_KMAP_REPORT_H
#define MZ_CMDS_KMAP_KMAP_REPORT_H

#include "analysis/kmap.h"

struct mz_json;

/* The figures of the JSON, into an open object. 0 or -ENOMEM. */
int kmap_report_figures(struct mz_json *j, const struct mz_kmap_model *m);

#define KMAP_REPORT_ROWS 8

/* Reads the map and reports to standard output; rows of a table, 0 = all. Returns enum
 * mz_exit. */
struct mz_recording;
int kmap_report_run(struct mz_recording *r, size_t rows, bool json);

#endif
