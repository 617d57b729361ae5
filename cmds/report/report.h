/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of a user trace, as `report --json` and the page have them. */
#ifndef MZ_CMDS_REPORT_REPORT_H
#define MZ_CMDS_REPORT_REPORT_H

#include "analysis/usage.h"
#include "base/json.h"

/* Into an open object. command NULL = not known. */
void report_json_summary(struct mz_json *out, const struct mz_usage *u, const char *command);

#endif
