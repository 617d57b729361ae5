/* SPDX-License-Identifier: BSD-2-Clause */
/* What a name would refer to in the program without this library. */
#ifndef MZ_PRELOAD_SCOPE_H
#define MZ_PRELOAD_SCOPE_H

#include <stdbool.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The definition that calls would reach without us: the executable's, which precedes
 * preloaded libraries, or the next one after us. *own: it is the executable's. */
HIDDEN void *mz_definition(const char *name, bool *own);

/* Is it a function that its object defines? A program that is not position-independent has
 * addresses for functions of libraries as well: those of its PLT. */
HIDDEN bool mz_is_defined(void *function);

/* The object that malloc comes from; NULL = the C library. */
struct link_map;
HIDDEN const struct link_map *mz_allocator(const void *malloc);
/* The function that calls of this name reach, if that object defines it. NULL = no. Allocates no
 * memory, unlike dlsym() for a missing name. */
HIDDEN void *mz_beside(const struct link_map *allocator, const char *name);

/* The same for a function that most programs do not have: dlsym() would allocate a message that
 * says so, and leave it for the program's dlerror(). NULL = none. */
HIDDEN void *mz_rare_definition(const char *name);

#endif
