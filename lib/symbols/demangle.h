/* SPDX-License-Identifier: BSD-2-Clause */
/* C++ names made readable, by the C++ library of the machine. */
/*
 * A name may come from a hostile file, and 263 bytes of it can stand for gigabytes; so every name
 * that could grow is handed to a process of its own, which has little memory and time. A program
 * that uses the library does not notice that process: no wait() returns it, and its end raises no
 * signal.
 */
#ifndef MZ_SYMBOLS_DEMANGLE_H
#define MZ_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define MZ_DEMANGLE_NAME 8192  /* bytes of a name as it is */
#define MZ_DEMANGLE_MAX	 65536 /* ... and as it becomes */

struct mz_demangle {
	char *(*call)(const char *, char *, size_t *, int *);
	void (*release)(void *); /* what call returned */
	void *library;		 /* NULL: there is none, and names stay as they are */
	int helper;		 /* descriptor of the process; -1: not started */
	int fd;			 /* to the helper */
	unsigned starts;
	char text[MZ_DEMANGLE_MAX];
};

/* NULL = no memory. */
struct mz_demangle *mz_demangle_new(void);
void mz_demangle_free(struct mz_demangle *d);

/* The readable name, valid until the next call; NULL: it is not a mangled name, or it is too
 * large. */
const char *mz_demangle(struct mz_demangle *d, const char *name);

#endif
