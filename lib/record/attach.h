/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the library into a running program, by ptrace. */
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
	bool loaded_before;
	int pidfd;	  /* of the requested process */
	uint64_t call_at; /* in the program: struct mz_attach_call */
	bool ready;	  /* the region is set up */
	/* Set up a region that the program has made; fd is the callee's. 0 or -errno. */
	int (*set_up)(struct mz_attach *a, int fd, struct mz_error *err);
	void *arg;
};

/* Is there a reason why the program cannot be recorded? 0, or -errno with the reason and the
 * remedy in err. */
int mz_attach_check(pid_t pid, struct mz_error *err);

/* The first step: holds the process and checks it. */
int mz_attach_open(struct mz_attach *a, pid_t pid, struct mz_error *err);

/* Loads the library, sets the region up with a->set_up, and lets the program record: the number
 * of calls that were redirected, or -errno. */
int mz_attach_begin(struct mz_attach *a, const char *library, struct mz_error *err);

/* The program's calls go to their original functions again. */
int mz_attach_end(struct mz_attach *a, struct mz_error *err);

void mz_attach_close(struct mz_attach *a);

#endif
