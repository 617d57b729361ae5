// SPDX-License-Identifier: BSD-2-Clause
/* Build a kernel with Memorizer or kmemtrace, or put both into a kernel tree of the user. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/self.h"
#include "cmds/cmd.h"

#define NO_SOURCES                                                                                 \
	"the kernel sources are not installed; on Debian: apt install memorizer-kernel-source"

struct kernel_opts {
	const char *output;
	bool check, package, revert;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct kernel_opts, output,
	       "build into the folder OUT; default memorizer/kernel in the user's cache folder"),
	MZ_SWITCH(0, "check", struct kernel_opts, check,
		  "apply: only check whether the patches apply"),
	MZ_SWITCH(0, "package", struct kernel_opts, package,
		  "build: also make Debian packages, linux-image and linux-headers"),
	MZ_SWITCH(0, "revert", struct kernel_opts, revert,
		  "apply: remove Memorizer from the tree again"),
	{0},
};

/* A script: beside the checkout's build folder, or below share/ where it is installed. */
static int find_script(const char *name, char *path, size_t size)
{
	static const char *const places[] = {"share/memorizer/kernel", "../kernel"};
	char prefix[PATH_MAX];

	if (!mz_self_path(prefix, sizeof(prefix), 2))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if ((size_t)snprintf(path, size, "%s/%s/%s", prefix, places[i], name) < size &&
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

static int build(const struct kernel_opts *o, int argc, char **argv)
{
	char script[PATH_MAX], output[PATH_MAX], *args[12] = {script, "-o", output};
	int n = 3;

	if ((size_t)argc > sizeof(args) / sizeof(*args) - 5)
		return console_usage("too many variants");
	if (find_script("build", script, sizeof(script)) < 0)
		return console_fail(NO_SOURCES);
	if (find_output(o->output, output, sizeof(output)) < 0)
		return console_fail(
			"the home folder is not known; name a folder to build into with -o");
	if (o->package)
		args[n++] = "-p";
	for (int i = 0; i < argc; i++)
		args[n++] = argv[i];
	console_note("building into %s; then: memorizer vm --kernel %s/%s", output, output,
		     argc ? argv[0] : "memorizer");
	execv(script, args);
	return console_fail("%s: %s", script, strerror(errno));
}

static int apply(const struct kernel_opts *o, int argc, char **argv)
{
	char script[PATH_MAX], *args[4] = {script};
	int n = 1;

	if (argc != 1 || (o->check && o->revert))
		return console_usage("apply takes one kernel tree, and --check or --revert");
	if (find_script("apply", script, sizeof(script)) < 0)
		return console_fail(NO_SOURCES);
	if (o->check || o->revert)
		args[n++] = o->check ? "--check" : "--revert";
	args[n] = argv[0];
	execv(script, args);
	return console_fail("%s: %s", script, strerror(errno));
}

static int run(void *options, int argc, char **argv)
{
	if (argc && !strcmp(argv[0], "build"))
		return build(options, argc - 1, argv + 1);
	if (argc && !strcmp(argv[0], "apply"))
		return apply(options, argc - 1, argv + 1);
	return console_usage(
		"name an action: 'build' builds a kernel, 'apply' changes a kernel tree");
}

MZ_CMD(kernel, "kernel", struct kernel_opts, "build [VARIANT...] | apply TREE",
       "build a kernel with Memorizer or kmemtrace, or change a kernel tree");
