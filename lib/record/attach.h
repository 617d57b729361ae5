/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the library into a program that is running, by ptrace. */
#ifndef MZ_RECORD_ATTACH_H
#define MZ_RECORD_ATTACH_H

#include <memorizer.h>
#include <sys/types.h>
#include <uapi/memorizer/record.h>

#include "record/attach_objects.h"
#include "record/attach_thread.h"

struct mz_attach {
	pid_t pid;
	struct mz_attach_objects objects;
	struct mz_attach_thread thread;
	uint64_t functions[MZ_REALS]; /* the program's own, by MZ_REAL_CALLS */
	int program_fd;		      /* of the region, as the program has it */
	bool loaded_before;
};

/* Is there a reason why it cannot be done? 0, or -errno with the reason and the
 * remedy in err. */
int mz_attach_check(pid_t pid, struct mz_error *err);

/* Load the library: a descriptor of the region that it made, or -errno. A thread
 * of the program is held until mz_attach_begin() or mz_attach_drop(). */
int mz_attach_load(struct mz_attach *a, pid_t pid, const char *library, struct mz_error *err);

/* The region is set up: let the program record. Calls that were redirected, or
 * -errno. */
int mz_attach_begin(struct mz_attach *a, struct mz_error *err);

/* The program's calls go where they went before. */
int mz_attach_end(struct mz_attach *a, struct mz_error *err);

/* Let go of the thread. */
void mz_attach_drop(struct mz_attach *a);

#endif
