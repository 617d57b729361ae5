/* SPDX-License-Identifier: BSD-2-Clause */
/* Find the shared memory, and let the kernel show that this program uses it. */
#ifndef MZ_PRELOAD_REGION_H
#define MZ_PRELOAD_REGION_H

#include <stdbool.h>
#include <uapi/memorizer/record.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The region that the environment names, if it is still the same one and the program may use it;
 * NULL = none. */
HIDDEN struct mz_region *mz_region_map(void);

/* The environment, before the C library knows it; NULL = not known. */
extern char **mz_region_environment HIDDEN;

/* This program's seccomp filters forbid what recording needs, or may do so: no system call of
 * ours from now on, neither here nor in its children. */
extern bool mz_sandboxed HIDDEN;

/* Take the lock of an image, for as long as this program runs. False: the file cannot be
 * reached; the recorder has to find the process. */
HIDDEN bool mz_region_lock(uint32_t image);
HIDDEN void mz_region_unlock(void);
/* In a child: the parent's lock is not ours. */
HIDDEN void mz_region_forked(void);

/* Before this program, or a child, gets another /proc or another user: leave a descriptor open for
 * the programs that it will run. The path in the environment will not exist there, or be barred. */
HIDDEN void mz_region_keep(void);

/* A program that this one becomes may not reach the region: the kernel shows a process the
 * descriptors of another only if both have the same user, and the former no fewer rights. */
HIDDEN bool mz_region_barred(void);

/* A region that this program made: its locks are taken through this descriptor. */
HIDDEN void mz_region_made(int fd);

#endif
