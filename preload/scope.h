/* SPDX-License-Identifier: BSD-2-Clause */
/* What a name would mean in the program if this library were not there. */
#ifndef MZ_PRELOAD_SCOPE_H
#define MZ_PRELOAD_SCOPE_H

#include <stdbool.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The definition that calls would reach without us: the executable's, which precedes
 * preloaded libraries, or the next one after us. *own: it is the executable's. */
HIDDEN void *mz_definition(const char *name, bool *own);

/* Is it a function that its object defines? A program that is not position-independent
 * has addresses for functions of libraries too: those of its PLT. */
HIDDEN bool mz_is_defined(void *function);

#endif
