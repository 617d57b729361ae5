// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace through the allocator of this process, in one thread. */
#include "cmds/cmd.h"
#include "cmds/replay_talk.h"

struct opts {
	bool verbose;
	unsigned touch;
	uint64_t repeat;
	bool free_rest;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT('v', "verbose", NULL, MZ_OPT_FLAG, struct opts, verbose,
	       "print the new trace on standard output, as text with serial numbers"),
	{.name = "touch",
	 .arg = "WHAT",
	 .help = "write to the blocks: none, first (byte), all (bytes); default none",
	 .type = MZ_OPT_CHOICE,
	 .offset = offsetof(struct opts, touch),
	 .choices = replay_touches},
	MZ_OPT(0, "repeat", "N", MZ_OPT_U64, struct opts, repeat,
	       "replay N times in the same process, freeing the rest in between"),
	MZ_OPT(0, "free-rest", NULL, MZ_OPT_FLAG, struct opts, free_rest,
	       "free at the end what the trace never frees (not timed)"),
	MZ_OPT(0, "json", NULL, MZ_OPT_FLAG, struct opts, json, "the figures as JSON"),
	{0},
};

static int run(void *options, int argc, char **argv)
{
	const struct opts *o = options;
	struct mz_replay_opts r = {.touch = o->touch,
				   .free_rest = o->free_rest,
				   .verbose = o->verbose,
				   .rounds = (unsigned)o->repeat};
	struct mz_replay_result result;
	struct mz_error err = {0};

	if (argc != 1)
		return talk_usage("one input, please (- is standard input)");
	if (o->repeat > 1000000)
		return talk_usage("--repeat %llu is too often; at most 1000000",
				  (unsigned long long)o->repeat);
	if (mz_replay(argv[0], &r, &result, &err) < 0)
		return talk_error(&err);
	if (o->json)
		replay_talk_json(&r, &result, stderr);
	else
		replay_talk(&r, &result);
	return MZ_EXIT_OK;
}

static const char *const aliases[] = {"cmtreplay", NULL};

const struct mz_cmd cmd_cmtreplay = {
	.name = "cmtreplay",
	.aliases = aliases,
	.args = "INPUT|-",
	.summary = "replay a trace through the allocator of the process",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
