/* SPDX-License-Identifier: BSD-2-Clause */
/* Print result tables as text, JSON or CSV. */
#ifndef MZ_CMDS_TABLE_PRINT_H
#define MZ_CMDS_TABLE_PRINT_H

#include "analysis/result_table.h"
#include "base/json.h"
#include "cmds/cmd.h"

/* Columns, numbers aligned to the right. At most top rows; the number of omitted rows is
 * printed. */
void answer_text(const struct mz_result_table *a, size_t top);
/* An array of objects under the answer's key. */
void answer_json(struct mz_json *j, const struct mz_result_table *a, size_t top);
/* A header and all rows; with label, a column of that name before them holds the
 * answer's key, and the header comes only if first. */
void answer_csv(const struct mz_result_table *a, size_t top, const char *label, bool first);

#endif
