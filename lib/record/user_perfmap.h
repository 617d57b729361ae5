/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code that a program made at run time. */
#ifndef MZ_RECORD_USER_PERFMAP_H
#define MZ_RECORD_USER_PERFMAP_H

#include <memorizer.h>
#include <sys/types.h>

/* Adds to the writer the names of its stacks' addresses that are in /tmp/perf-PID.map, a file
 * that runtimes write for perf: lines "START SIZE NAME". Only a file of this user is read. A
 * file that is missing or unusable is not an error. 0 or -ENOMEM. */
int mz_user_perfmap(struct mz_writer *w, uint32_t pid, uid_t owner);

#endif
