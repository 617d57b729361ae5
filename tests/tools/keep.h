/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that a compiler must not optimize away. */
#ifndef MZ_TESTS_TOOLS_KEEP_H
#define MZ_TESTS_TOOLS_KEEP_H

#include <stdlib.h>

static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static inline void *posix(size_t align, size_t size)
{
	void *p = NULL;

	return posix_memalign(&p, align, size) ? NULL : p;
}

#endif
