// SPDX-License-Identifier: BSD-2-Clause
/* Convert the log of another tool, and report on standard error what was left out. */
#include "cmds/convert/logs.h"

#include "cmds/cmd.h"

static void left_out(const struct mz_log *log, enum mz_log_line what, const char *text)
{
	if (log->counts[what])
		console_note("%s: left out: %llu %s", log->in->name,
			     (unsigned long long)log->counts[what], text);
}

static int report(const struct mz_log *log, bool strict)
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

int logs_convert(const char *path, struct mz_dtrace *dtrace, const struct mz_log_text_options *o,
		 bool strict)
{
	struct mz_log_processes procs;
	struct mz_error err = {0};
	struct mz_input in;
	struct mz_log log = {.in = &in, .dtrace = dtrace};
	int ret;

	if (mz_input_open(&in, path, &err) < 0)
		return console_error(&err);
	ret = mz_log_write_text(&log, o, &procs, &err);
	for (size_t i = 0; i < procs.files; i++)
		console_note("%s.%u.trace: %llu events", o->output, procs.v[i].pid,
			     (unsigned long long)procs.v[i].events);
	ret = ret < 0 ? console_error(&err) : report(&log, strict);
	mz_log_processes_deinit(&procs);
	mz_input_close(&in);
	return ret;
}
