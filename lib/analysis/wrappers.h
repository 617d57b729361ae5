/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that allocate for their caller, as xmalloc and operator new do. */
/* No call site is named after them. There is a built-in list, and users add to it. */
#ifndef MZ_ANALYSIS_WRAPPERS_H
#define MZ_ANALYSIS_WRAPPERS_H

#include <memorizer.h>

struct mz_wrappers {
	char **names;
	size_t n, cap;
	bool shown; /* none is skipped, not even the built-in ones */
};

/* A name as the report shows it, without parameters; "x*" is every name that begins with x.
 * 0 or -ENOMEM. */
int mz_wrappers_add(struct mz_wrappers *w, const char *name);
/* Names from a file, one per line; '#' begins a comment. 0 or -errno with err set. */
int mz_wrappers_read(struct mz_wrappers *w, const char *path, struct mz_error *err);
void mz_wrappers_deinit(struct mz_wrappers *w);

/* w NULL: the built-in list alone. function NULL is none. */
bool mz_wrappers_has(const struct mz_wrappers *w, const char *function);

#endif
