/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that read other tools' logs have in common. */
#ifndef MZ_CMDS_CONVERT_LOGS_H
#define MZ_CMDS_CONVERT_LOGS_H

#include "cmds/cmd.h"
#include "export/log_text.h"

/* What a log says of each event, apart from the call. vm has --fields of objects. */
#define LOGS_OPT_TIMES(st, m, h)                                                                   \
	{                                                                                          \
		.name = "times", .alias = "fields", .help = h, .type = MZ_OPT_FLAG,                \
		.offset = offsetof(st, m)                                                          \
	}

/* Converts the log at path, one of dtrace or, with NULL, of kdump, and reports on standard error
 * what was written and left out. Returns enum mz_exit; with strict, it shows that a log is
 * incomplete. */
int logs_convert(const char *path, struct mz_dtrace *dtrace, const struct mz_log_text_options *o,
		 bool strict);

#endif
