/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel symbols from a saved /proc/kallsyms (or System.map: the same lines; or what
 * scripts/kernel-files makes: System.map with the source file behind the name). */
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
/* The symbols are names of single addresses, not of functions: no other address has one. */
void mz_kallsyms_exact(struct mz_kallsyms *k);
void mz_kallsyms_free(struct mz_kallsyms *k);

/* The function that holds the address, borrowed until k is freed; NULL: none.
 * offset: from its start. module: "ext4", NULL = the kernel itself. */
const char *mz_kallsyms_find(const struct mz_kallsyms *k, uint64_t addr, uint64_t *offset,
			     const char **module);
/* The variable that holds the address, or NULL. */
const char *mz_kallsyms_variable(const struct mz_kallsyms *k, uint64_t addr, uint64_t *offset);
/* The source file of the function (variable) that holds the address; NULL = not known. */
const char *mz_kallsyms_file(const struct mz_kallsyms *k, uint64_t addr, bool variable);
bool mz_kallsyms_has_files(const struct mz_kallsyms *k);
/* The address of the first symbol of that name; 0 = none. Slow. */
uint64_t mz_kallsyms_address(const struct mz_kallsyms *k, const char *name);
/* The i-th function, by address; NULL behind the last. module as above. */
const char *mz_kallsyms_at(const struct mz_kallsyms *k, size_t i, uint64_t *addr,
			   const char **module);
size_t mz_kallsyms_count(const struct mz_kallsyms *k); /* of functions */
/* The names of the modules that have functions in it, each once, sorted; the caller frees the
 * array. *n: how many. NULL = no memory. */
const char **mz_kallsyms_modules(const struct mz_kallsyms *k, size_t *n);

/* The lines of the functions that hold these addresses, which are sorted by it:
 * all that is needed to name them elsewhere. */
void mz_kallsyms_pick(const struct mz_kallsyms *k, uint64_t *addrs, size_t n, struct mz_buf *lines);

/* Is it a function of the kernel's allocators or of tracing, which allocates for its caller?
 * NULL is not one. */
bool mz_kernel_inner(const char *function);
/* Is it a function of the recorder, which is the innermost part of the stacks that it takes? NULL
 * is not one. */
bool mz_kernel_recorder(const char *function);
/* Which frame of a stack, innermost first, is the call site: the first that is not inner, or
 * else the outermost. k may be NULL: the first. */
size_t mz_kallsyms_call_site(const struct mz_kallsyms *k, const uint64_t *ips, size_t depth);

/* "name+0x1c [module]" or "0xffff..." into buf, hostile bytes escaped. Returns
 * buf. k may be NULL. */
char *mz_kallsyms_text(const struct mz_kallsyms *k, uint64_t addr, char *buf, size_t size);

#endif
