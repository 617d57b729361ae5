/* SPDX-License-Identifier: BSD-2-Clause */
/* Which function replaces which, in a program that was already running. */
#ifndef MZ_PRELOAD_HOOKS_H
#define MZ_PRELOAD_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <uapi/memorizer/record.h>

struct mz_hook {
	void *hook; /* NULL: it is called, not redirected */
	void **real;
	bool maps; /* with MZ_REGION_MMAP only */
};

/* The names of the hooks are also those of the real functions, which the linker would use for
 * them. */
#if __has_attribute(copy) /* GCC requires that the attributes of both names agree */
#define MZ_SEE_COPY(call) copy(call),
#else
#define MZ_SEE_COPY(call)
#endif
#define MZ_SEE(call)                                                                               \
	extern __typeof__(call) mz_see_##call                                                      \
		__attribute__((alias(#call), MZ_SEE_COPY(call) visibility("hidden")))

/* In the order of MZ_REAL_CALLS. */
extern const struct mz_hook mz_hooks[MZ_REALS] __attribute__((visibility("hidden")));

/* The real functions are known; they are looked up if necessary. */
__attribute__((visibility("hidden"))) bool mz_prepared(void);
/* After the real functions have changed, and the allocator's own ones were looked for. */
__attribute__((visibility("hidden"))) void mz_sizes_find(void);
/* Tell the recorder if the program defines malloc itself. For programs that were running before. */
__attribute__((visibility("hidden"))) void mz_own_malloc_tell(void);
/* Before a call that moves a block or a mapping. False: it is not recorded, but counted. */
__attribute__((visibility("hidden"))) bool mz_record_old(const void *old);

/* An allocation that a function of another allocator has made, and a free that it will make;
 * align 0 = the usual one. Does nothing if this thread does not record. */
__attribute__((visibility("hidden"))) void mz_record_alloc(uint8_t call, void *p, size_t size,
							   size_t align);
__attribute__((visibility("hidden"))) void mz_record_free(void *p);
/* What is known about the old block of a realloc. */
enum mz_change {
	MZ_CHANGE_OFF,	   /* not known: nothing is recorded */
	MZ_CHANGE_LOST,	   /* its end could not be recorded */
	MZ_CHANGE_ON,	   /* it is recorded, or there is none */
	MZ_CHANGE_THINNED, /* it is not recorded */
};
/* Before and after a call that changes the size of a block; end receives what begin returned. */
__attribute__((visibility("hidden"))) enum mz_change mz_record_begin(void *old);
__attribute__((visibility("hidden"))) void mz_record_end(enum mz_change how, void *old, void *p,
							 size_t size);

#endif
