/* SPDX-License-Identifier: BSD-2-Clause */
/* Which object file of the kernel an address was linked from: lines "START SIZE PATH",
 * hex, as kernel/build takes them from the link map. */
#ifndef MZ_SYMBOLS_OBJECTS_H
#define MZ_SYMBOLS_OBJECTS_H

#include <memorizer.h>

struct mz_objects;

/* NULL with err set. */
struct mz_objects *mz_objects_load(const char *path, struct mz_error *err);
/* From text, which is changed and stays the caller's until free. */
struct mz_objects *mz_objects_parse(char *text, const char *name, struct mz_error *err);
void mz_objects_free(struct mz_objects *o);

/* Borrowed until free; NULL = none. */
const char *mz_objects_find(const struct mz_objects *o, uint64_t addr);

#endif
