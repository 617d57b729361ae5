/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accesses that the compiler cannot see: inline assembly, user copies.
 */
#ifndef _LINUX_MEMORIZER_CHECKS_H
#define _LINUX_MEMORIZER_CHECKS_H

#include <linux/types.h>

void memorizer_read_range(const volatile void *addr, size_t size);
void memorizer_write_range(const volatile void *addr, size_t size);

#if defined(CONFIG_MEMORIZER) && defined(__SANITIZE_THREAD__)

/* Never called: the plugin replaces them. */
void memorizer_note_read(const volatile void *addr) __attribute__((__leaf__));
void memorizer_note_write(const volatile void *addr) __attribute__((__leaf__));
void memorizer_note_read_write(const volatile void *addr) __attribute__((__leaf__));

#define memorizer_check_read(v)			memorizer_note_read(v)
#define memorizer_check_write(v)		memorizer_note_write(v)
#define memorizer_check_read_write(v)		memorizer_note_read_write(v)
#define memorizer_check_read_range(v, n)	memorizer_read_range(v, n)
#define memorizer_check_write_range(v, n)	memorizer_write_range(v, n)

#else

#define memorizer_check_read(v)			do { } while (0)
#define memorizer_check_write(v)		do { } while (0)
#define memorizer_check_read_write(v)		do { } while (0)
#define memorizer_check_read_range(v, n)	do { } while (0)
#define memorizer_check_write_range(v, n)	do { } while (0)

#endif

#endif /* _LINUX_MEMORIZER_CHECKS_H */
