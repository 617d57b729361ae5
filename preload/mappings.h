/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that map memory: the real functions and their replacements. */
#ifndef MZ_PRELOAD_MAPPINGS_H
#define MZ_PRELOAD_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

/* Set by hooks.c, with the other real functions. */
extern struct mz_real_maps {
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
} mz_real_maps __attribute__((visibility("hidden")));

extern __typeof__(mmap) mz_see_mmap __attribute__((visibility("hidden")));
extern __typeof__(munmap) mz_see_munmap __attribute__((visibility("hidden")));
extern __typeof__(mremap) mz_see_mremap __attribute__((visibility("hidden")));
extern __typeof__(brk) mz_see_brk __attribute__((visibility("hidden")));
extern __typeof__(sbrk) mz_see_sbrk __attribute__((visibility("hidden")));

#endif
