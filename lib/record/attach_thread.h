/* SPDX-License-Identifier: BSD-2-Clause */
/* Stop a thread of another program at a safe point, make it call functions, and let it
 * continue undisturbed. */
#ifndef MZ_RECORD_ATTACH_THREAD_H
#define MZ_RECORD_ATTACH_THREAD_H

#include <memorizer.h>
#include <sys/types.h>
#include <sys/user.h>

#include "record/attach_objects.h"

#define ATTACH_ENTRIES 64u

struct mz_attach_thread {
	pid_t pid;
	pid_t tid; /* 0 = none is held */
	const struct mz_attach_objects *objects;
	uint64_t syscall_at;		  /* an instruction that makes a system call */
	uint64_t entries[ATTACH_ENTRIES]; /* of malloc and its like: nothing is locked there */
	size_t entry_count;
	uint64_t stack, stack_size; /* made for the calls */
	/* as it was */
	struct user_regs_struct regs;
	void *vectors; /* and other registers */
	size_t vectors_size;
	uint64_t signals; /* blocked ones */
	uint64_t errno_at;
	int its_errno;
	bool changed;
	int refused; /* errno of the kernel, for the thread that was tried last */
};

/* Hold some thread where it has no lock of the heap. 0 or -errno with err set.
 * pid, objects, syscall_at and entries are given. */
int mz_attach_thread_hold(struct mz_attach_thread *t, struct mz_error *err);

/* Have it call a function: 0 and its result, or -errno. */
int mz_attach_thread_call(struct mz_attach_thread *t, uint64_t function, const uint64_t args[3],
			  uint64_t *result, struct mz_error *err);

/* Some bytes where it can read them: their address. At most 4096. */
uint64_t mz_attach_thread_put(struct mz_attach_thread *t, const void *data, size_t size);

void mz_attach_thread_release(struct mz_attach_thread *t);

#endif
