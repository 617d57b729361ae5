/* SPDX-License-Identifier: BSD-2-Clause */
/* Redirect the calls of libraries that are already loaded. */
/*
 * They go through tables that the dynamic linker has filled (the GOT). These are changed here, and
 * restored.
 */
#ifndef MZ_PRELOAD_REDIRECT_H
#define MZ_PRELOAD_REDIRECT_H

#include <stdbool.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Redirects to our hooks, or back: the number of entries that were changed. */
HIDDEN unsigned mz_redirect(bool ours);

/* The same for libraries that were loaded since. */
HIDDEN void mz_redirect_new(void);

/* Report libraries in other namespaces to the recorder: their calls are not redirected. */
HIDDEN void mz_look_for_namespaces(void);

#endif
