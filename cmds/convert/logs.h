/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that read other tools' logs have in common. */
#ifndef MZ_CMDS_CONVERT_LOGS_H
#define MZ_CMDS_CONVERT_LOGS_H

#include "formats/logs.h"

/* Says on standard error what was left out; returns the exit status, which with
 * strict tells of a log that is not whole. */
int logs_report(const struct mz_log *log, bool strict);

#endif
