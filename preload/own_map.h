/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's own mappings. They are not made through mmap(), which is recorded as the program's
 * call, and which the program may define itself. */
#ifndef MZ_PRELOAD_OWN_MAP_H
#define MZ_PRELOAD_OWN_MAP_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* fd -1: anonymous. MAP_FAILED, with errno, if it fails. */
static inline void *mz_own_map(void *at, size_t size, int prot, int flags, int fd)
{
	return (void *)syscall(SYS_mmap, at, size, (long)prot, (long)flags, (long)fd, 0l);
}

static inline void mz_own_unmap(void *p, size_t size)
{
	syscall(SYS_munmap, p, size);
}

#endif
