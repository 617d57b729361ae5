// SPDX-License-Identifier: BSD-2-Clause
/* One program and one table of verbs: the first argument, or the name by which the program was
 * called, selects the verb. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cmd.h"
#include "cmds/signals.h"

#define GROUP(title)
#define VERB(name) extern const struct mz_cmd cmd_##name;
#include "cmds/verbs.def"
#undef VERB

const struct mz_cmd *const mz_cmds[] = {
#define VERB(name) &cmd_##name,
#include "cmds/verbs.def"
#undef VERB
#undef GROUP
};
const size_t mz_cmds_count = sizeof(mz_cmds) / sizeof(*mz_cmds);

const struct mz_cmd *mz_cmd_find(const char *name)
{
	for (size_t i = 0; i < mz_cmds_count; i++) {
		if (!strcmp(mz_cmds[i]->name, name))
			return mz_cmds[i];
		for (const char *const *a = mz_cmds[i]->aliases; a && *a; a++)
			if (!strcmp(*a, name))
				return mz_cmds[i];
	}
	return NULL;
}

/* Everything that was printed must have arrived. */
static int flush(int ret)
{
	bool written = !fflush(stdout) && !ferror(stdout);
	int why = written ? 0 : console_write_error() ? console_write_error() : errno;

	/* a verb that failed because memory ran out has said so already */
	if (!written || (console_no_memory() && !ret)) {
		if (console_no_memory())
			console_fail("out of memory");
		else
			console_fail("standard output: cannot write: %s",
				     why ? strerror(why) : "an earlier write failed");
		return ret ? ret : MZ_EXIT_FAILED;
	}
	return ret;
}

static int run(const struct mz_cmd *cmd, const char *shown, int argc, char **argv)
{
	bool json, data;
	void *opts;
	int rest, ret;

	/* errors are in JSON when the result would have been, those of the options included */
	json = options_has(cmd, argc, argv, "json");
	data = json || options_has(cmd, argc, argv, "csv");
	console_set(shown, json);
	opts = calloc(1, cmd->opts_size ? cmd->opts_size : 1);
	if (!opts)
		return console_fail("out of memory");
	ret = options_parse(cmd, opts, argc, argv, &rest);
	if (ret < 0 && cmd->prints && !data)
		console_guard();
	if (ret < 0)
		options_note_input(cmd, rest - 1);
	if (ret < 0)
		ret = cmd->run(opts, rest - 1, argv + 1);
	free(opts);
	return flush(ret);
}

int mz_cmd_unknown(const char *verb)
{
	const char *names[64];
	const char *near;

	for (size_t i = 0; i < mz_cmds_count; i++)
		names[i] = mz_cmds[i]->name;
	near = options_nearest(verb, names, mz_cmds_count);
	if (near)
		return console_usage("unknown verb '%s'; did you mean '%s'?", verb, near);
	return console_usage("unknown verb '%s'", verb);
}

/*
 * A closed standard stream must not become the number of a file that we open. Each is opened so
 * that its use fails: nothing is lost silently.
 */
static void keep_streams(void)
{
	static const int useless[] = {O_WRONLY, O_RDONLY, O_WRONLY};

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", useless[fd]) < 0)
			return;
}

int main(int argc, char **argv)
{
	const char *base = argc ? strrchr(argv[0], '/') : NULL;
	const struct mz_cmd *cmd;
	char shown[80];

	keep_streams();
	signals_keep();
	signal(SIGXFSZ, SIG_IGN); /* if a file becomes too large, the write reports it */
	base = base ? base + 1 : argc ? argv[0] : "memorizer";
	cmd = mz_cmd_find(base);
	if (cmd)
		return run(cmd, base, argc, argv);
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run(&cmd_help, "memorizer", 1, argv);
	if (!strcmp(argv[1], "--version")) {
		puts("memorizer " MZ_VERSION);
		return flush(MZ_EXIT_OK);
	}
	cmd = mz_cmd_find(argv[1]);
	if (!cmd)
		return mz_cmd_unknown(argv[1]);
	snprintf(shown, sizeof(shown), "memorizer %s", cmd->name);
	return run(cmd, shown, argc - 1, argv + 1);
}
