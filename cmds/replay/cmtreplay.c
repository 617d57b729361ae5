// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace through the allocator of this process, in one thread. */
#include "cmds/replay/replay_options.h"

static const struct mz_opt opts[] = {REPLAY_OPTS, {0}};

static int run(void *options, int argc, char **argv)
{
	struct replay_opts *o = options;

	o->one_thread = true;
	return replay_main(o, argc, argv);
}

static const char *const aliases[] = {"cmtreplay", NULL};

MZ_CMD(cmtreplay, "cmtreplay", struct replay_opts, "INPUT|-",
       "replay a trace through the allocator of the process", .aliases = aliases, .reads = true);
