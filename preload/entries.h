/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that jemalloc, mimalloc and tcmalloc have beside malloc and its like. */
#ifndef MZ_PRELOAD_ENTRIES_H
#define MZ_PRELOAD_ENTRIES_H

#include <stdbool.h>

/* Find those that lie in the library that malloc is of. */
__attribute__((visibility("hidden"))) void mz_entries_find(const void *malloc);
/* Were there any? */
bool mz_entries_found(void) __attribute__((visibility("hidden")));

/* What is called in the place of such a function, and itself. False: it is none of those
 * that were found. */
__attribute__((visibility("hidden"))) bool mz_entry(const char *name, void **hook, void **real);

#endif
