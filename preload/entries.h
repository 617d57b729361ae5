/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that jemalloc, mimalloc and tcmalloc offer beside malloc and its variants. */
#ifndef MZ_PRELOAD_ENTRIES_H
#define MZ_PRELOAD_ENTRIES_H

#include <stdbool.h>

/* Find those in the library that malloc comes from. */
__attribute__((visibility("hidden"))) void mz_entries_find(const void *malloc);
/* Were some found? */
extern bool mz_entries_found __attribute__((visibility("hidden")));

/* The replacement for such a function, and the function itself. False: it is not one of those
 * that were found. */
__attribute__((visibility("hidden"))) bool mz_entry(const char *name, void **hook, void **real);

#endif
