/* SPDX-License-Identifier: BSD-2-Clause */
/* What `record` knows about its program: the options, the state of the recording, and the
 * summary. */
#ifndef MZ_CMDS_RECORD_RECORD_H
#define MZ_CMDS_RECORD_RECORD_H

#include <sys/types.h>

#include "cmds/cmd.h"
#include "cmds/record/kmemtraced.h"
#include "record/attach.h"
#include "record/user_rings.h"

#define RECORD_SPOOL_TOLD (64ull << 20) /* bytes: a spool that was this large is mentioned */

struct record_opts {
	uint64_t given;
	const char *output;
	const char *stacks;
	bool of_kernel;
	bool follow_forks;
	bool other_users;
	bool mmap;
	bool drop, wait;
	const char *spool;
	uint64_t spool_limit;
	const char *sample;
	uint64_t pid;
	uint64_t resolution;
	double duration;
	bool force;
	bool quiet;
	bool json;
	struct kmemtraced_opts kernel;
};

struct record_job {
	const struct record_opts *o;
	struct mz_user_rings rings;
	struct mz_user_files files;
	struct mz_attach attach;
	bool attached; /* the program was running before; detached: it is again as it was */
	bool detached;
	struct mz_error err;
	pid_t pid;
	uint32_t flags, depth; /* of the region */
	int status;	       /* of the program, from waitpid() */
	bool exited;
	bool stopped; /* by --duration or a signal */
	uint64_t start;
	uint64_t look_at, moved, spare; /* when the rate was measured, and the counts then */
	uint64_t may_wait; /* bytes of the spool that may be used before records are packed */
	bool told_spool;   /* it was reported that records wait in the spool */
	bool told_thinning;
	uint64_t program_ended; /* when; 0 = not seen */
	uint64_t packed_at;	/* 0: it was packed while the program ran */
};

/* The folder of the spool. */
const char *record_spool_name(const struct record_job *j);
/* Why its disk had no room, with the name of the folder, in buf; NULL = it had. */
const char *record_spool_error(const struct record_job *j, char *buf, size_t size);
/* The exit status of the program, as a shell would show it. */
int record_exit_status(const struct record_job *j);

/* After the end: files, losses and what was not seen, for people or as JSON. */
void record_tell(const struct record_job *j);
void record_tell_json(const struct record_job *j);

#endif
