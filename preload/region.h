/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the shared memory, and saying to the kernel that this program uses it. */
#ifndef MZ_PRELOAD_REGION_H
#define MZ_PRELOAD_REGION_H

#include <stdbool.h>
#include <uapi/memorizer/record.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The region that the environment names, if it is still the one that was meant and
 * the program may use it; NULL = none. */
HIDDEN struct mz_region *mz_region_map(void);

/* This program's seccomp filters forbid what recording needs, or may do so: no system call of ours
 * from now on, nor in its children. */
extern bool mz_sandboxed HIDDEN;

/* Take the lock of an image, for as long as this program runs. False: there is no
 * way to the file; the recorder has to find the process. */
HIDDEN bool mz_region_lock(uint32_t image);
HIDDEN void mz_region_unlock(void);
/* In a child: the parent's lock is not ours. */
HIDDEN void mz_region_forked(void);

/* Before this program, or a child of it, gets another /proc: leave a descriptor open for
 * what it will run. The environment names the memory by a path that is not there then. */
HIDDEN void mz_region_keep(void);

/* A region that this program made: its locks are taken through this descriptor. */
HIDDEN void mz_region_made(int fd);

#endif
