/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that is shared with recorded programs. */
/*
 * The functions make it, check it if a program has made it, and let each side learn that the other
 * has died.
 */
#ifndef MZ_RECORD_USER_REGION_H
#define MZ_RECORD_USER_REGION_H

#include <linux/futex.h>
#include <memorizer.h>
#include <uapi/memorizer/record.h>

/* A memfd of the region's size, which cannot change: a descriptor or -errno. */
int mz_region_make(void);

/* Is this descriptor, which came from a program, such a memfd? It is neither
 * resized nor written; only its size is sealed if that is not done yet. 0, or
 * -errno with err set. */
int mz_region_check(int fd, struct mz_error *err);

/* Announces to programs that this thread records. The kernel informs them when it ends. */
struct mz_region_owner {
	struct robust_list_head head;
	struct robust_list node;
	struct robust_list_head *former; /* of the C library */
	size_t former_size;
};

void mz_region_own(struct mz_region_owner *o, struct mz_region *region);
void mz_region_disown(struct mz_region_owner *o);

/* Does the program of an image hold its lock? */
bool mz_region_locked(int fd, unsigned image);

/* A process as this one sees it: its number, and when it was started, because numbers are
 * reused. */
struct mz_process {
	uint32_t pid; /* 0 = not known */
	uint64_t start;
};

/* Which process calls itself pid? Only one that maps the region qualifies; with search, also one
 * in another pid namespace, which has another number here. */
struct mz_process mz_region_find(int fd, uint32_t pid, bool search);
/* It runs, and has not begun to exit. */
bool mz_process_runs(const struct mz_process *p);

/* The process that maps the region and calls itself pid in its own namespace: a
 * pidfd, or -errno. */
int mz_region_process(int fd, uint32_t pid);

/* Seccomp filters of a process, from its status file in /proc; 0 = none. */
uint32_t mz_region_filters(const char *status_path);

#endif
