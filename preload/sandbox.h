/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that give up system calls: recording ends before it would kill them. */
#ifndef MZ_PRELOAD_SANDBOX_H
#define MZ_PRELOAD_SANDBOX_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The answer of a filter for a system call with these arguments: SECCOMP_RET_*, and
 * SECCOMP_RET_KILL_PROCESS for a program that cannot be evaluated. */
HIDDEN uint32_t mz_filter_run(const struct sock_filter *code, size_t n, int nr,
			      const uint64_t args[6]);

/* Does it allow everything that recording needs? */
HIDDEN bool mz_filter_allows(const struct sock_filter *code, size_t n);

/* Does this system call change what /proc is? Called before it is made. */
HIDDEN void mz_see_apart(long nr, const long a[6]);

/* For the redirection of calls: prctl and syscall, and their original functions. */
extern void *mz_real_prctl HIDDEN, *mz_real_syscall HIDDEN;
HIDDEN int mz_see_prctl(int option, ...);
HIDDEN long mz_see_syscall(long nr, ...);

/* Copy memory of the program, wherever it points to; false = it cannot be read. */
HIDDEN bool mz_peek(const void *from, void *to, size_t size);

#endif
