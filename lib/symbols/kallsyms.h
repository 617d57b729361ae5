/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel symbols from a saved /proc/kallsyms (or System.map: the same lines). */
#ifndef MZ_SYMBOLS_KALLSYMS_H
#define MZ_SYMBOLS_KALLSYMS_H

#include <memorizer.h>

#include "base/buf.h"

struct mz_kallsyms;

/* NULL with err set. A file that hides its addresses (all 0) is an error. */
struct mz_kallsyms *mz_kallsyms_load(const char *path, struct mz_error *err);
/* The same lines from memory; name is for messages. */
struct mz_kallsyms *mz_kallsyms_parse(const char *data, size_t len, const char *name,
				      struct mz_error *err);
void mz_kallsyms_free(struct mz_kallsyms *k);

/* The function that holds the address, borrowed until k is freed; NULL: none.
 * offset: from its start. module: "ext4", NULL = the kernel itself. */
const char *mz_kallsyms_find(const struct mz_kallsyms *k, uint64_t addr, uint64_t *offset,
			     const char **module);
/* The variable that holds the address, or NULL. */
const char *mz_kallsyms_variable(const struct mz_kallsyms *k, uint64_t addr, uint64_t *offset);
/* The address of the first symbol of that name; 0 = none. Slow. */
uint64_t mz_kallsyms_address(const struct mz_kallsyms *k, const char *name);
/* The i-th function, by address; NULL behind the last. module as above. */
const char *mz_kallsyms_at(const struct mz_kallsyms *k, size_t i, uint64_t *addr,
			   const char **module);
size_t mz_kallsyms_count(const struct mz_kallsyms *k); /* of functions */

/* The lines of the functions that hold these addresses, which are sorted by it:
 * all that is needed to name them elsewhere. */
void mz_kallsyms_pick(const struct mz_kallsyms *k, uint64_t *addrs, size_t n, struct mz_buf *lines);

/* "name+0x1c [module]" or "0xffff..." into buf, hostile bytes escaped. Returns
 * buf. k may be NULL. */
char *mz_kallsyms_text(const struct mz_kallsyms *k, uint64_t addr, char *buf, size_t size);

#endif
