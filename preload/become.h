/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that calls exec becomes another one. */
#ifndef MZ_PRELOAD_BECOME_H
#define MZ_PRELOAD_BECOME_H

#include <stdbool.h>

/* Find the real functions. */
__attribute__((visibility("hidden"))) void mz_become_find(void);

/* A system call that replaces the program, made by raw: its result, which is an error. */
typedef long mz_raw_call(long nr, const long a[6]);
__attribute__((visibility("hidden"))) long mz_see_exec(long nr, const long a[6], mz_raw_call *raw);

#endif
