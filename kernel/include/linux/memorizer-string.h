/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memcpy(), memmove() and memset() of instrumented code: one read of the
 * source and one write of the destination, at the caller's address.
 *
 * One to eight bytes of constant length become a plain load and store early in
 * the compiler, which are instrumented like any other; everything else goes
 * through a function, so that nothing is counted twice or not at all.
 */
#ifndef _LINUX_MEMORIZER_STRING_H
#define _LINUX_MEMORIZER_STRING_H

#if defined(CONFIG_MEMORIZER) && defined(__SANITIZE_THREAD__)

#include <linux/compiler.h>
#include <linux/types.h>

void *memorizer_memcpy(void *to, const void *from, size_t n);
void *memorizer_memmove(void *to, const void *from, size_t n);
void *memorizer_memset(void *to, int c, size_t n);

#define __memorizer_plain(n)						\
	(__builtin_constant_p(n) &&					\
	 ((n) == 1 || (n) == 2 || (n) == 4 || (n) == 8))

static __always_inline void *__memorizer_memcpy(void *to, const void *from,
						size_t n)
{
	if (__memorizer_plain(n))
		return __builtin_memcpy(to, from, n);
	return memorizer_memcpy(to, from, n);
}

static __always_inline void *__memorizer_memmove(void *to, const void *from,
						 size_t n)
{
	if (__memorizer_plain(n))
		return __builtin_memmove(to, from, n);
	return memorizer_memmove(to, from, n);
}

static __always_inline void *__memorizer_memset(void *to, int c, size_t n)
{
	if (__memorizer_plain(n) && __builtin_constant_p(c))
		return __builtin_memset(to, c, n);
	return memorizer_memset(to, c, n);
}

#undef memcpy
#undef memmove
#undef memset
#define memcpy(to, from, n)	__memorizer_memcpy(to, from, n)
#define memmove(to, from, n)	__memorizer_memmove(to, from, n)
#define memset(to, c, n)	__memorizer_memset(to, c, n)

#endif

#endif /* _LINUX_MEMORIZER_STRING_H */
