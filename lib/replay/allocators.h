/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocators that a trace can be replayed with, and where their libraries are. */
#ifndef MZ_REPLAY_ALLOCATORS_H
#define MZ_REPLAY_ALLOCATORS_H

#include <memorizer.h>

struct mz_allocator {
	char name[64];
	char library[512]; /* to be preloaded; "" = that of the C library */
};

/* The allocator that a name or a path refers to. 0; -ENOENT: it is known but not installed (err
 * names the package); -EINVAL: it is not known. */
int mz_allocator_find(const char *name, struct mz_allocator *a, struct mz_error *err);

#endif
