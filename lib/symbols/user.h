/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for the addresses of a user program, from the files that it was made
 * of: those that the trace names, if they are still the same (build id). */
#ifndef MZ_SYMBOLS_USER_H
#define MZ_SYMBOLS_USER_H

#include <memorizer.h>

struct mz_symbols;

struct mz_symbol {
	const char *function; /* demangled; NULL = not known */
	const char *file;     /* of the source; NULL = not known */
	int line;
	const char *module; /* the file's name, without folders; NULL = not known */
	uint64_t offset;    /* of the address in the module */
};

/* For the modules that the trace names: attributes module.N, each "BASE LENGTH
 * BUILD-ID PATH", numbers in hex. NULL = no memory. */
struct mz_symbols *mz_symbols_open(const struct mz_reader *r);
void mz_symbols_close(struct mz_symbols *s);

/* The place before a return address: the call. Strings are borrowed until the
 * symbols are closed. False: not in any module. */
bool mz_symbols_find(struct mz_symbols *s, uint64_t ip, struct mz_symbol *out);

/* Modules whose file is gone, or another one by now. */
unsigned mz_symbols_missing(const struct mz_symbols *s);

#endif
