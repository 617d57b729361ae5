/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rings need to know about this program's place in the region. */
#ifndef MZ_PRELOAD_JOIN_H
#define MZ_PRELOAD_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#define MZ_JOIN_HIDDEN __attribute__((visibility("hidden")))

/* The number of this program in the region. */
extern uint32_t mz_my_image MZ_JOIN_HIDDEN;

/* The recorder is gone: its memory is returned, and another one may attach. */
void mz_forget_region(void) MZ_JOIN_HIDDEN;

/* From now on, threads that end return their rings. */
void mz_see_thread_exits(void) MZ_JOIN_HIDDEN;

/* From now on, processes that this one forks are counted, unless they are recorded. */
void mz_see_forks(void) MZ_JOIN_HIDDEN;
/* This process, a child that is not recorded, calls the allocator. */
void mz_count_child(uint32_t pid) MZ_JOIN_HIDDEN;
/* Such a child is about to call exec, or has failed to. False: this is no such child. */
bool mz_fork_execs(bool begins) MZ_JOIN_HIDDEN;

#endif
