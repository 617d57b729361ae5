/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code that a program made at run time. */
#ifndef MZ_RECORD_USER_PERFMAP_H
#define MZ_RECORD_USER_PERFMAP_H

#include <memorizer.h>
#include <sys/types.h>

/* Into the writer the names of its stacks' addresses that /tmp/perf-PID.map knows, a file that
 * runtimes write for perf: lines "START SIZE NAME". Only a file of this user is read. A file
 * that is not there, or of no use, is no error. 0 or -ENOMEM. */
int mz_user_perfmap(struct mz_writer *w, uint32_t pid, uid_t owner);

#endif
