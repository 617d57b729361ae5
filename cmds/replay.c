// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace in as many threads as it has. */
#include <sys/mman.h>

#include "cmds/cmd.h"
#include "cmds/replay_talk.h"

#define SAMPLES 1024

struct opts {
	bool verbose;
	unsigned touch;
	uint64_t repeat;
	bool free_rest;
	bool one_thread;
	bool pace;
	bool samples;
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
	MZ_OPT(0, "one-thread", NULL, MZ_OPT_FLAG, struct opts, one_thread,
	       "all events in one thread, in the order of the trace"),
	MZ_OPT(0, "pace", NULL, MZ_OPT_FLAG, struct opts, pace,
	       "each event at its time of the trace, not as fast as it goes"),
	MZ_OPT(0, "samples", NULL, MZ_OPT_FLAG, struct opts, samples,
	       "with --json: live bytes and RSS as the replay went on"),
	MZ_OPT(0, "json", NULL, MZ_OPT_FLAG, struct opts, json, "the figures as JSON"),
	{0},
};

static int run(void *options, int argc, char **argv)
{
	const struct opts *o = options;
	struct mz_replay_opts r = {.touch = o->touch,
				   .free_rest = o->free_rest,
				   .verbose = o->verbose,
				   .threads = !o->one_thread,
				   .pace = o->pace,
				   .rounds = (unsigned)o->repeat};
	struct mz_replay_result result;
	struct mz_error err = {0};

	if (argc != 1)
		return talk_usage("one input, please (- is standard input)");
	if (o->repeat > 1000000)
		return talk_usage("--repeat %llu is too often; at most 1000000",
				  (unsigned long long)o->repeat);
	if (o->pace && o->repeat > 1)
		return talk_usage("--pace and --repeat do not go together");
	if (o->samples) {
		size_t bytes = SAMPLES * sizeof(*r.samples);

		r.samples = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (r.samples == MAP_FAILED)
			return talk_fail("out of memory");
		r.samples_cap = SAMPLES;
	}
	if (mz_replay(argv[0], &r, &result, &err) < 0)
		return talk_error(&err);
	if (o->json)
		replay_talk_json(&r, &result, stderr);
	else
		replay_talk(&r, &result);
	return MZ_EXIT_OK;
}

const struct mz_cmd cmd_replay = {
	.name = "replay",
	.args = "INPUT|-",
	.summary = "replay a trace in as many threads as it has",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
