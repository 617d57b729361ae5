// SPDX-License-Identifier: BSD-2-Clause
/* Convert dtrace allocation logs to a text trace. */
#include "cmds/cmd.h"
#include "cmds/convert/logs.h"

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
	MZ_OPT_STRICT(struct log_opts, strict, "the log is incomplete"),
	MZ_OPT_FORCE(struct log_opts, force),
	{0},
};

static int run(void *options, int argc, char **argv)
{
	const struct log_opts *o = options;
	struct mz_log_text_options how = {
		.output = o->output, .overwrite = o->force, .fields = o->fields};
	struct mz_dtrace dtrace;

	if (argc > 1)
		return console_usage("one input only; '%s' is one too many", argv[1]);
	mz_dtrace_init(&dtrace);
	return logs_convert(argc ? argv[0] : "-", &dtrace, &how, o->strict);
}

static const char *const aliases[] = {"log2trace", "log2trace.sh", NULL};

MZ_CMD(log2trace, "log2trace", struct log_opts, "[INPUT|-]",
       "convert a dtrace allocation log to a text trace", .aliases = aliases, .reads = true);
