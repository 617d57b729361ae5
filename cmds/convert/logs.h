/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that read other tools' logs have in common. */
#ifndef MZ_CMDS_CONVERT_LOGS_H
#define MZ_CMDS_CONVERT_LOGS_H

#include "cmds/cmd.h"
#include "formats/logs.h"

/* What a log says of each event, apart from the call. vm has --fields of objects. */
#define LOGS_OPT_TIMES(st, m, h)                                                                   \
	{                                                                                          \
		.name = "times", .alias = "fields", .help = h, .type = MZ_OPT_FLAG,                \
		.offset = offsetof(st, m)                                                          \
	}

/* Reports on standard error what was left out. Returns the exit status; with strict, it shows
 * that a log is incomplete. */
int logs_report(const struct mz_log *log, bool strict);

#endif
