// SPDX-License-Identifier: BSD-2-Clause
/* Report on standard error what a log converter left out. */
#include "cmds/convert/logs.h"

#include "cmds/cmd.h"

static void left_out(const struct mz_log *log, enum mz_log_line what, const char *text)
{
	if (log->counts[what])
		console_note("%s: left out: %llu %s", log->in->name,
			     (unsigned long long)log->counts[what], text);
}

int logs_report(const struct mz_log *log, bool strict)
{
	left_out(log, MZ_LOG_NULL,
		 log->dtrace ? "free(NULL)" : "free(0x0), as kdump shows free(NULL) and malloc(0)");
	left_out(log, MZ_LOG_UNKNOWN, "lines that are not records");
	if (log->counts[MZ_LOG_DROPPED])
		console_note("%s: the kernel lost events at %llu places; their number is unknown",
			     log->in->name, (unsigned long long)log->counts[MZ_LOG_DROPPED]);
	if (strict && (log->counts[MZ_LOG_DROPPED] || log->counts[MZ_LOG_UNKNOWN]))
		return MZ_EXIT_INCOMPLETE;
	return MZ_EXIT_OK;
}
