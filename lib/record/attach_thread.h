/* SPDX-License-Identifier: BSD-2-Clause */
/* Borrowing a thread of another program. */
/*
 * It is held at a safe place, calls functions for us, and then continues where it was. The way back
 * does not need us: each call returns into a signal frame, like a signal handler, and the kernel
 * restores the thread from it. The recorder may therefore be killed at any moment.
 */
#ifndef MZ_RECORD_ATTACH_THREAD_H
#define MZ_RECORD_ATTACH_THREAD_H

#include <memorizer.h>
#include <sys/types.h>
#include <sys/user.h>

#include "record/attach_objects.h"

#define ATTACH_ENTRIES 64u
#define ATTACH_STATE   16384u /* bytes of vector registers */

struct mz_attach_thread {
	pid_t pid;
	pid_t tid; /* 0 = none is held */
	const struct mz_attach_objects *objects;
	uint64_t syscall_at;   /* syscall; ret */
	uint64_t sigreturn_at; /* the C library's return from a signal handler */
	uint64_t mmap_at, munmap_at;
	uint64_t entries[ATTACH_ENTRIES]; /* of malloc and its like: nothing is locked there */
	size_t entry_count;
	uint64_t own_frame;	    /* on the thread's own stack */
	uint64_t stack, stack_size; /* made for the calls, with a frame at its end */
	uint64_t frame;
	/* as it was */
	struct user_regs_struct regs;
	uint8_t *vectors; /* and other registers */
	size_t vectors_size;
	bool stuck;	  /* a thread is traced and does not stop: we must end */
	uint64_t signals; /* blocked ones */
	uint64_t errno_at;
	int its_errno;
	bool changed;
	bool before_syscall; /* held where it is about to make a system call */
	bool repeats;	     /* it is about to make a wait again that we cut short */
	int refused;	     /* errno of the kernel, for the thread that was tried last */
};

/* Called for each system call of the borrowed thread, at its entry and its end: 0, or -errno,
 * which ends the function call that it belongs to. */
typedef int mz_attach_watch(void *arg, const struct user_regs_struct *r, bool entry,
			    struct mz_error *err);

struct mz_attach_request {
	uint64_t function;
	uint64_t args[6];
	bool pointer; /* it returns a pointer that is not NULL: into result */
	mz_attach_watch *watch;
	void *arg;
	uint64_t result;
};

/* Hold some thread where it holds no lock of the heap or the linker. 0 or -errno with err set.
 * pid, objects, the functions and entries are given. */
int mz_attach_thread_hold(struct mz_attach_thread *t, struct mz_error *err);

/* Make it call a function: 0 or -errno. */
int mz_attach_thread_call(struct mz_attach_thread *t, struct mz_attach_request *q,
			  struct mz_error *err);

/* Where the borrowed stack has room for arguments: 4096 bytes. */
uint64_t mz_attach_thread_room(const struct mz_attach_thread *t);

void mz_attach_thread_release(struct mz_attach_thread *t);

/* ---- attach_place.c: is this a place where a thread may be held? ---------------- */

/* A wait that our interruption cut short is made again: true, and r has changed. */
bool mz_attach_repeat(pid_t tid, struct user_regs_struct *r);
/* regs: of a thread that is stopped. */
bool mz_attach_place(const struct mz_attach_thread *t, pid_t tid,
		     const struct user_regs_struct *regs);
/* May the stack be written to from this address upwards? */
bool mz_attach_own_stack(const struct mz_attach_thread *t, const struct user_regs_struct *regs,
			 uint64_t from);

/* ---- attach_frame.c ---------------------------------------------------------------- */

/* Write a signal frame that restores the thread, ending at most at end: its address,
 * or 0. */
uint64_t mz_attach_frame(const struct mz_attach_thread *t, uint64_t end);
/* Bytes that a frame takes at most. */
size_t mz_attach_frame_room(const struct mz_attach_thread *t);

#endif
