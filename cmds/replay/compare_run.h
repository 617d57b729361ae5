/* SPDX-License-Identifier: BSD-2-Clause */
/* One replay of a trace with one allocator, in a fresh process. */
#ifndef MZ_CMDS_REPLAY_COMPARE_RUN_H
#define MZ_CMDS_REPLAY_COMPARE_RUN_H

#include <memorizer.h>

#include "replay/allocators.h"
#include "replay/engine.h"

#define COMPARE_SAMPLES 1024

struct compare_run {
	double ns; /* an event */
	double events;
	double peak_live;
	double rss_before, rss_peak, rss_after;
	double faults;
	double failed;
	double files_cut; /* of the trace */
	size_t samples;
	bool samples_by_time; /* by ns, not by calls */
	struct mz_sample sample[COMPARE_SAMPLES];
};

struct compare_how {
	const char *trace;
	const char *touch;
	bool samples;
	bool one_thread;
	bool allow_large;
};

/* 0, or -errno with err. */
int compare_run(const struct mz_allocator *a, const struct compare_how *how,
		struct compare_run *run, struct mz_error *err);

#endif
