/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the library into a program that is running, by ptrace. */
#ifndef MZ_CMDS_ATTACH_H
#define MZ_CMDS_ATTACH_H

#include <memorizer.h>
#include <sys/types.h>
#include <uapi/memorizer/record.h>

#include "cmds/attach_objects.h"
#include "cmds/attach_thread.h"

struct attach {
	pid_t pid;
	struct attach_objects objects;
	struct attach_thread thread;
	uint64_t functions[MZ_REALS]; /* the program's own, by MZ_REAL_CALLS */
	int program_fd;		      /* of the region, as the program has it */
	bool loaded_before;
};

/* Is there a reason why it cannot be done? 0, or -errno with the reason and the
 * remedy in err. */
int attach_check(pid_t pid, struct mz_error *err);

/* Load the library: a descriptor of the region that it made, or -errno. A thread
 * of the program is held until attach_begin() or attach_drop(). */
int attach_load(struct attach *a, pid_t pid, const char *library, struct mz_error *err);

/* The region is set up: let the program record. Calls that were redirected, or
 * -errno. */
int attach_begin(struct attach *a, struct mz_error *err);

/* The program's calls go where they went before. */
int attach_end(struct attach *a, struct mz_error *err);

/* Let go of the thread. */
void attach_drop(struct attach *a);

#endif
