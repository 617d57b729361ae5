/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of another tool's log as text traces. */
/*
 * Addresses of different processes refer to different blocks, so the log of several processes
 * becomes one trace for each of them.
 */
#ifndef MZ_EXPORT_LOG_TEXT_H
#define MZ_EXPORT_LOG_TEXT_H

#include "formats/logs.h"

struct mz_log_text_options {
	const char *output; /* NULL: standard output; with split, the files are OUTPUT.PID.trace */
	bool overwrite;
	bool fields;  /* process, thread and time, where the log has them */
	bool split;   /* one file per process, which kdump shows */
	uint64_t pid; /* kdump: of this process only; 0 = of any */
};

/* With split each of them has a file, and no more than these are kept open. */
#define MZ_LOG_PROCESSES 4096

struct mz_log_process {
	uint32_t pid;
	uint64_t events;
};

/* Of kdump: who the events were of. */
struct mz_log_processes {
	struct mz_log_process *v;
	size_t n;
	size_t files; /* with split: how many of them have their file */
};

/* Reads the log to its end. 0 or -errno with err set; deinit the processes in both cases. */
int mz_log_write_text(struct mz_log *log, const struct mz_log_text_options *o,
		      struct mz_log_processes *processes, struct mz_error *err);
void mz_log_processes_deinit(struct mz_log_processes *p);

#endif
