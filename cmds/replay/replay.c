// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace in as many threads as it has. */
#include "cmds/replay/replay_options.h"

static const struct mz_opt opts[] = {
	REPLAY_OPTS,
	MZ_SWITCH(0, "one-thread", struct replay_opts, one_thread,
		  "all events in one thread, in the order of the trace"),
	MZ_SWITCH(0, "pace", struct replay_opts, pace,
		  "replay each event at its recorded time, not as fast as possible"),
	MZ_SWITCH(0, "samples", struct replay_opts, samples,
		  "with --json: live bytes and RSS over the replay"),
	{0},
};

static int run(void *options, int argc, char **argv)
{
	return replay_main(options, argc, argv);
}

MZ_CMD(replay, "replay", struct replay_opts, "INPUT|-",
       "replay a trace in as many threads as it has", .reads = true);
