// SPDX-License-Identifier: BSD-2-Clause
/* Convert dtrace allocation logs to a text trace. */
#include "base/error.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "cmds/convert/logs.h"
#include "formats/text.h"

struct log_opts {
	const char *output;
	bool fields;
	bool strict;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT_OUTPUT(struct log_opts, output),
	LOGS_OPT_TIMES(struct log_opts, fields,
		       "add the time, and the thread where the log has it, to each line"),
	MZ_SWITCH(0, "strict", struct log_opts, strict,
		  "exit with status 3 if the log is incomplete"),
	MZ_OPT_FORCE(struct log_opts, force),
	{0},
};

static int convert(const struct log_opts *o, struct mz_log *log, struct mz_output *out,
		   struct mz_error *err)
{
	struct mz_event ev;
	int ret;

	while ((ret = mz_log_next(log, &ev, err)) > 0) {
		char *p = mz_output_room(out, MZ_LOG_LINE_MAX, err);
		size_t n;

		if (!p)
			return -err->code;
		if (!o->fields)
			ev.has = MZ_HAS_ADDR;
		n = mz_text_format(p, &ev, NULL, false);
		p[n] = '\n';
		out->len += n + 1;
	}
	return ret;
}

static int run(void *options, int argc, char **argv)
{
	const struct log_opts *o = options;
	struct mz_output out = {.file.fd = -1};
	struct mz_error err = {0};
	struct mz_dtrace dtrace;
	struct mz_input in;
	struct mz_log log = {.in = &in, .dtrace = &dtrace};
	int ret;

	if (argc > 1)
		return console_usage("one input only; '%s' is one too many", argv[1]);
	mz_dtrace_init(&dtrace);
	if (mz_input_open(&in, argc ? argv[0] : "-", &err) < 0)
		return console_error(&err);
	if (mz_output_open(&out, o->output, o->force, &err) < 0 ||
	    convert(o, &log, &out, &err) < 0 || mz_output_commit(&out, &err) < 0)
		ret = console_error(&err);
	else
		ret = logs_report(&log, o->strict);
	mz_output_abort(&out);
	mz_input_close(&in);
	return ret;
}

static const char *const aliases[] = {"log2trace", "log2trace.sh", NULL};

MZ_CMD(log2trace, "log2trace", struct log_opts, "[INPUT|-]",
       "convert a dtrace allocation log to a text trace", .aliases = aliases, .reads = true);
