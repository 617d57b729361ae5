/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that read other tools' logs have in common. */
#ifndef MZ_CMDS_CONVERT_LOGS_H
#define MZ_CMDS_CONVERT_LOGS_H

#include "formats/logs.h"

/* Reports on standard error what was left out. Returns the exit status; with strict, it shows
 * that a log is incomplete. */
int logs_report(const struct mz_log *log, bool strict);

#endif
