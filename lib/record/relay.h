/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording with kmemtrace in the kernel. */
/*
 * One thread per CPU, pinned to it, splices the records of /sys/kernel/debug/kmemtrace/cpuN into a
 * file. open -> start ... failed ... stop -> close
 */
#ifndef MZ_RECORD_RELAY_H
#define MZ_RECORD_RELAY_H

#include <memorizer.h>

#define MZ_RELAY_ROOT "/sys/kernel/debug/kmemtrace"

struct mz_relay_options {
	bool stacks;
	bool drain; /* switch tracing off and take what the buffers hold */
	bool overwrite;
};

/* By the kernel's counters, since tracing began; written: from a count of the records. */
struct mz_relay_counts {
	uint64_t recorded;
	uint64_t lost, full, early, no_buffer, nmi; /* lost is the sum */
	uint64_t nulls, no_cache, no_stack;
	uint32_t sequence;
};

struct mz_relay;

/* Does this kernel have it? */
bool mz_relay_there(void);

/* Opens everything that is needed, so that privileges can be dropped before start. */
struct mz_relay *mz_relay_open(const struct mz_relay_options *o, const char *dir,
			       struct mz_error *err);
/* Switches tracing on, if it is not, and starts the threads. */
int mz_relay_start(struct mz_relay *r, struct mz_error *err);
/* A part has failed (a disk is full): 0 or -errno, with err. */
int mz_relay_failed(struct mz_relay *r, struct mz_error *err);
/* Switches tracing off, takes the rest, writes the files beside, checks the account. */
int mz_relay_stop(struct mz_relay *r, struct mz_error *err);
void mz_relay_close(struct mz_relay *r);

/* Of this recording: everything since boot if tracing was on already, otherwise since start. */
int mz_relay_counts(struct mz_relay *r, struct mz_relay_counts *n, struct mz_error *err);
uint64_t mz_relay_written(const struct mz_relay *r); /* events, after stop */
uint64_t mz_relay_bytes(const struct mz_relay *r);
unsigned mz_relay_cpus(const struct mz_relay *r);
bool mz_relay_since_boot(const struct mz_relay *r); /* it was on when we came */
bool mz_relay_verified(const struct mz_relay *r);   /* false: others have read before */

#endif
