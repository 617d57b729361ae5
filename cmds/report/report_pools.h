/* SPDX-License-Identifier: BSD-2-Clause */
/* What each pool of a program (memorizer/pool.h) handed out. Nothing is shown for a
 * program without pools. */
#ifndef MZ_CMDS_REPORT_REPORT_POOLS_H
#define MZ_CMDS_REPORT_REPORT_POOLS_H

#include "analysis/usage.h"
#include "base/json.h"

void report_pools_text(const struct mz_usage *u, const struct mz_tables *t);
void report_pools_json(struct mz_json *out, const struct mz_usage *u, const struct mz_tables *t);

#endif
