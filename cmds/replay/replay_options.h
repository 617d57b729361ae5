/* SPDX-License-Identifier: BSD-2-Clause */
/* What cmtreplay and replay share: their options, and the report after a replay. */
#ifndef MZ_CMDS_REPLAY_REPLAY_OPTIONS_H
#define MZ_CMDS_REPLAY_REPLAY_OPTIONS_H

#include "cmds/cmd.h"
#include "replay/run.h"

struct replay_opts {
	bool verbose;
	unsigned touch;
	uint64_t repeat;
	bool free_rest;
	bool one_thread;
	bool pace;
	bool samples;
	bool json;
};

extern const char *const replay_touches[]; /* the choices of --touch */

/* The options of both verbs. */
#define REPLAY_OPTS                                                                                \
	MZ_SWITCH('v', "verbose", struct replay_opts, verbose,                                     \
		  "print the new trace on standard output, as text with serial numbers"),          \
		{.name = "touch",                                                                  \
		 .arg = "WHAT",                                                                    \
		 .help = "write to the blocks: none, first (byte), all (bytes); default none",     \
		 .type = MZ_OPT_CHOICE,                                                            \
		 .offset = offsetof(struct replay_opts, touch),                                    \
		 .choices = replay_touches},                                                       \
		MZ_OPT(0, "repeat", "N", MZ_OPT_U64, struct replay_opts, repeat,                   \
		       "replay N times in the same process, freeing the rest in between"),         \
		MZ_SWITCH(0, "free-rest", struct replay_opts, free_rest,                           \
			  "free at the end what the trace never frees (not timed)"),               \
		MZ_SWITCH(0, "json", struct replay_opts, json, "print the figures as JSON")

/* Replays the one input of the command line and reports how it went: enum mz_exit. */
int replay_main(const struct replay_opts *o, int argc, char **argv);

#endif
