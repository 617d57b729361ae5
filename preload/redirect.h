/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of libraries that are loaded already go through tables that the dynamic
 * linker has filled (the GOT): here they are changed, and changed back.
 */
#ifndef MZ_PRELOAD_REDIRECT_H
#define MZ_PRELOAD_REDIRECT_H

#include <stdbool.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* To our hooks, or back: how many places were changed. */
HIDDEN unsigned mz_redirect(bool ours);

/* Libraries that came since: theirs too. */
HIDDEN void mz_redirect_new(void);

/* Tell the recorder of libraries in other namespaces, whose calls are not redirected. */
HIDDEN void mz_look_for_namespaces(void);

#endif
