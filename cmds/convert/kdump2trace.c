// SPDX-License-Identifier: BSD-2-Clause
/* Convert FreeBSD's kdump of jemalloc's utrace records to a text trace. */
#include <string.h>
#include <sys/resource.h>

#include "cmds/cmd.h"
#include "cmds/convert/logs.h"

struct kdump_opts {
	const char *output;
	uint64_t pid;
	bool split;
	bool fields;
	bool strict;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct kdump_opts, output,
	       "write to OUT (default: standard output); with --split, to OUT.PID.trace"),
	MZ_OPT('p', "pid", "PID", MZ_OPT_U64, struct kdump_opts, pid,
	       "only the events of this process"),
	MZ_SWITCH(0, "split", struct kdump_opts, split, "one file per process"),
	LOGS_OPT_TIMES(struct kdump_opts, fields,
		       "add process, thread and time to each line, where kdump shows them"),
	MZ_OPT_STRICT(struct kdump_opts, strict, "the log is incomplete"),
	MZ_SWITCH('f', "force", struct kdump_opts, force, "replace existing files"),
	{0},
};

static void allow_many_files(void)
{
	struct rlimit lim;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur =
			lim.rlim_max < MZ_LOG_PROCESSES + 64 ? lim.rlim_max : MZ_LOG_PROCESSES + 64;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static int check_usage(const struct kdump_opts *o, int argc, char **argv)
{
	if (argc > 1)
		return console_usage("one input only; '%s' is one too many", argv[1]);
	if (o->split && (!o->output || !strcmp(o->output, "-")))
		return console_usage("--split needs -o PREFIX: the files are PREFIX.PID.trace");
	if (o->split && o->pid)
		return console_usage("--pid takes one process, --split all; choose one");
	if (o->pid > UINT32_MAX)
		return console_usage("--pid takes a process number");
	return MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	const struct kdump_opts *o = options;
	struct mz_log_text_options how = {.output = o->output,
					  .overwrite = o->force,
					  .fields = o->fields,
					  .split = o->split,
					  .pid = o->pid};
	int ret = check_usage(o, argc, argv);

	if (ret)
		return ret;
	if (o->split)
		allow_many_files();
	return logs_convert(argc ? argv[0] : "-", NULL, &how, o->strict);
}

static const char *const aliases[] = {"kdump2trace", "kdump2trace.sh", NULL};

MZ_CMD(kdump2trace, "kdump2trace", struct kdump_opts, "[INPUT|-]",
       "convert FreeBSD's kdump of malloc's utrace records to a text trace", .aliases = aliases,
       .reads = true);
