// SPDX-License-Identifier: BSD-2-Clause
/* Read the logs of other allocation tracers line by line. */
#include "formats/logs.h"

#include <errno.h>

#include "base/error.h"

/* At the end: an error if no line was one of a log. */
static int at_end(const struct mz_log *log, struct mz_error *err)
{
	const uint64_t *n = log->counts;

	if (!n[MZ_LOG_UNKNOWN] ||
	    n[MZ_LOG_EVENT] + n[MZ_LOG_OTHER] + n[MZ_LOG_NULL] + n[MZ_LOG_DROPPED])
		return 0;
	return mz_fail(err, EINVAL, "%s: none of its %llu lines is a line of %s", log->in->name,
		       (unsigned long long)log->line,
		       log->dtrace ? "a dtrace log (call-trace, tabs between the columns)"
				   : "kdump's output");
}

int mz_log_next(struct mz_log *log, struct mz_event *ev, struct mz_error *err)
{
	const char *line;
	size_t len;
	int ret;

	do {
		struct mz_error why;

		ret = mz_input_line(log->in, &line, &len, err);
		if (ret < 0)
			return ret;
		if (!ret)
			return at_end(log, err);
		log->line++;
		why.code = 0;
		ret = log->dtrace ? mz_dtrace_parse(log->dtrace, line, len, ev, &why)
				  : mz_kdump_parse(line, len, ev, &why);
		if (ret < 0)
			return mz_fail_line(err, why.code, log->line, "%s: line %llu: %s",
					    log->in->name, (unsigned long long)log->line, why.text);
		log->counts[ret]++;
	} while (ret != MZ_LOG_EVENT);
	return 1;
}
