/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaying a trace through the allocator of this process. */
/*
 * A child decodes the trace; this process only calls the allocator. Only the loop that makes the
 * calls is timed: neither decoding nor waiting for the decoder is included.
 */
#ifndef MZ_REPLAY_RUN_H
#define MZ_REPLAY_RUN_H

#include "replay/engine.h"

struct mz_replay_opts {
	enum mz_touch touch;
	unsigned rounds; /* 0 = 1 */
	bool free_rest;
	bool verbose; /* the new trace on standard output */
	bool threads; /* a thread for each of the trace */
	bool pace;
	unsigned flags;		   /* enum mz_open_flags */
	struct mz_sample *samples; /* where to put samples; NULL = none */
	size_t samples_cap;
};

struct mz_replay_result {
	struct mz_plan_counts trace;  /* of one round */
	struct mz_engine_counts done; /* all rounds, all threads; ns: the sum */
	unsigned threads;
	uint64_t wall_ns;    /* from the first call to the last, with all waiting */
	uint64_t rss_before; /* of the process, before the first call */
	uint64_t rss_peak;
	uint64_t rss_after;
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t table_bytes; /* of ours, grown by this replay: 10 bytes a slot */
	size_t samples;
	bool samples_by_time; /* by ns, not by calls */
};

/* path "-" is standard input. 0, or -errno with err. */
int mz_replay(const char *path, const struct mz_replay_opts *o, struct mz_replay_result *res,
	      struct mz_error *err);

#endif
