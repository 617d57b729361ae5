/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accesses that the compiler cannot see: inline assembly, user copies.
 *
 * The names are those of the compiler's callbacks, because that is what they
 * are, and because objtool knows them as safe where user access is open.
 */
#ifndef _LINUX_MEMORIZER_CHECKS_H
#define _LINUX_MEMORIZER_CHECKS_H

#include <linux/types.h>

#if defined(CONFIG_MEMORIZER) && defined(__SANITIZE_THREAD__)

#ifdef CONFIG_MEMORIZER_PLUGIN

/* Never called: the plugin replaces them. */
void memorizer_note_read(const volatile void *addr) __attribute__((__leaf__));
void memorizer_note_write(const volatile void *addr) __attribute__((__leaf__));
void memorizer_note_read_write(const volatile void *addr) __attribute__((__leaf__));

#define memorizer_check_read(v)		memorizer_note_read(v)
#define memorizer_check_write(v)	memorizer_note_write(v)
#define memorizer_check_read_write(v)	memorizer_note_read_write(v)

#else

void __tsan_read8(void *addr);
void __tsan_write8(void *addr);
void __tsan_read_write8(void *addr);

#define memorizer_check_read(v)		__tsan_read8((void *)(v))
#define memorizer_check_write(v)	__tsan_write8((void *)(v))
#define memorizer_check_read_write(v)	__tsan_read_write8((void *)(v))

#endif

void __tsan_read_range(void *addr, long size);
void __tsan_write_range(void *addr, long size);

#define memorizer_check_read_range(v, n)	__tsan_read_range((void *)(v), n)
#define memorizer_check_write_range(v, n)	__tsan_write_range((void *)(v), n)

#else

#define memorizer_check_read(v)			do { } while (0)
#define memorizer_check_write(v)		do { } while (0)
#define memorizer_check_read_write(v)		do { } while (0)
#define memorizer_check_read_range(v, n)	do { } while (0)
#define memorizer_check_write_range(v, n)	do { } while (0)

#endif

#endif /* _LINUX_MEMORIZER_CHECKS_H */
