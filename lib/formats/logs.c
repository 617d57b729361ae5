// SPDX-License-Identifier: BSD-2-Clause
/* Read the logs of other allocation tracers line by line. */
#include "formats/logs.h"

#include <errno.h>

#include "base/error.h"
#include "formats/open.h"
#include "formats/text.h"
#include "trace/reader.h"

/* At the start: a recording is no log, though its bytes may pass for comments. Text is told from a
 * log by its lines. */
static int at_start(const struct mz_log *log, struct mz_error *err)
{
	const struct mz_reader_ops *ops;
	enum mz_content content;
	int ret = mz_input_fill(log->in, MZ_CONTENT_PROBE, err);

	if (ret < 0)
		return ret;
	content = mz_content_of(log->in->pos, mz_input_left(log->in), &ops);
	if (content == MZ_CONTENT_UNKNOWN || ops == &mz_text_reader_ops)
		return 0;
	if (content != MZ_CONTENT_TRACE)
		return mz_kind_refuse(
			log->in->name,
			content == MZ_CONTENT_KMAP ? MZ_RECORDING_KMAP : MZ_RECORDING_SUMS, err);
	return mz_fail(err, EINVAL, "%s: a %s trace, not a log; 'memorizer convert' converts it",
		       log->in->name, mz_format_name(ops->format));
}

/* At the end: an error if no line was one of a log, or of an allocation. */
static int at_end(const struct mz_log *log, struct mz_error *err)
{
	const uint64_t *n = log->counts;

	if (!log->line || n[MZ_LOG_EVENT] + n[MZ_LOG_NULL] + n[MZ_LOG_DROPPED])
		return 0;
	if (n[MZ_LOG_OTHER])
		return mz_fail(err, EINVAL, "%s: none of its %llu lines is an allocation or a free",
			       log->in->name, (unsigned long long)log->line);
	return mz_fail(err, EINVAL, "%s: none of its %llu lines is a line of %s", log->in->name,
		       (unsigned long long)log->line,
		       log->dtrace ? "a dtrace log (call-trace, tabs between the columns)"
				   : "kdump's output");
}

int mz_log_next(struct mz_log *log, struct mz_event *ev, struct mz_error *err)
{
	const char *line;
	size_t len;
	int ret = log->line ? 0 : at_start(log, err);

	if (ret < 0)
		return ret;
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
