/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `report`, one for each kind of recording that has no verb of its own; and the
 * figures of a user trace, as `report --json` and the page have them. */
#ifndef MZ_CMDS_REPORT_REPORT_H
#define MZ_CMDS_REPORT_REPORT_H

#include "analysis/recording.h"
#include "analysis/usage.h"
#include "base/json.h"

/* Into an open object. command NULL = not known. */
void report_json_summary(struct mz_json *out, const struct mz_usage *u, const char *command);

/* Both read the recording and print; rows of a list, 0 = all. They return enum mz_exit. */
int report_user(struct mz_recording *r, size_t rows, bool json);
int report_profile(struct mz_recording *r, size_t rows, bool json);

#endif
