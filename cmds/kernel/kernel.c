// SPDX-License-Identifier: BSD-2-Clause
/* Builds a kernel with Memorizer or kmemtrace from the sources that are installed with us. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/self.h"
#include "cmds/cmd.h"

struct opts {
	const char *output;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "DIR", MZ_OPT_STR, struct opts, output,
	       "build into DIR; default memorizer/kernel in the user's cache folder"),
	{0},
};

/* The script: beside the checkout's build folder, or below share/ where it is installed. */
static int find_script(char *path, size_t size)
{
	static const char *const places[] = {"share/memorizer/kernel/build", "../kernel/build"};
	char prefix[PATH_MAX];

	if (!mz_self_path(prefix, sizeof(prefix), 2))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if ((size_t)snprintf(path, size, "%s/%s", prefix, places[i]) < size &&
		    !access(path, X_OK))
			return 0;
	return -ENOENT;
}

static int find_output(const char *given, char *path, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (given)
		n = snprintf(path, size, "%s", given);
	else if (cache && *cache == '/')
		n = snprintf(path, size, "%s/memorizer/kernel", cache);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.cache/memorizer/kernel", home);
	else
		return -ENOENT;
	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

static int run(void *options, int argc, char **argv)
{
	const struct opts *o = options;
	char script[PATH_MAX], output[PATH_MAX], *args[12] = {script, "-o", output};

	if (!argc || strcmp(argv[0], "build"))
		return console_usage("what to do with the kernel? 'build' builds one");
	if ((size_t)argc > sizeof(args) / sizeof(*args) - 4)
		return console_usage("too many variants");
	if (find_script(script, sizeof(script)) < 0)
		return console_fail("the kernel sources are not installed; on Debian: apt install "
				    "memorizer-kernel-source");
	if (find_output(o->output, output, sizeof(output)) < 0)
		return console_fail("no home folder is known; -o names a folder to build into");
	for (int i = 1; i < argc; i++)
		args[i + 2] = argv[i];
	console_note("building into %s; then: memorizer vm --kernel %s/%s", output, output,
		     argc > 1 ? argv[1] : "memorizer");
	execv(script, args);
	return console_fail("%s: %s", script, strerror(errno));
}

const struct mz_cmd cmd_kernel = {
	.name = "kernel",
	.args = "build [VARIANT...]",
	.summary = "build a kernel with Memorizer or kmemtrace",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
