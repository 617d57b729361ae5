/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that a trace carries for its addresses (those of other tools do). */
/*
 * With them, the files of the program are not needed. In a container they are attributes: names.0,
 * names.1, ... (docs/format.md).
 */
#ifndef MZ_TRACE_NAMES_H
#define MZ_TRACE_NAMES_H

#include <memorizer.h>

#include "base/buf.h"

/* Functions inlined into each other at one address, at most. */
#define MZ_NAMES_INLINED 16

struct mz_names;

struct mz_name {
	const char *function; /* NULL = not known */
	const char *file;
	uint32_t line;
};

struct mz_names *mz_names_new(void);
void mz_names_free(struct mz_names *n);

/* Adds what is at an address; inlined functions come first. The first entry of an address stays.
 * Strings are copied; module may be NULL. 0 or -ENOMEM. */
int mz_names_add(struct mz_names *n, uint64_t addr, const char *module, const struct mz_name *names,
		 size_t count);

/* How many (up to MZ_NAMES_INLINED), 0 = nothing is known. Borrowed until n is freed. */
size_t mz_names_find(const struct mz_names *n, uint64_t addr, const char **module,
		     struct mz_name names[MZ_NAMES_INLINED]);
size_t mz_names_count(const struct mz_names *n);

/* A substitute for an unknown address that has a name; always the same for one name. 0: no
 * memory. */
uint64_t mz_names_make(struct mz_names *n, const char *function, size_t len, const char *module);
bool mz_names_made(uint64_t addr);

/* Lines "ADDRESS<tab>MODULE<tab>FUNCTION<tab>FILE<tab>LINE...", from entry `from` on, up to
 * about a mebibyte; returns the entry to continue with. And the inverse; 0 or -errno. */
size_t mz_names_text(const struct mz_names *n, size_t from, struct mz_buf *out);
int mz_names_parse(struct mz_names *n, const char *text, size_t len);

/* All of them as attributes of a container. 0 or -errno. */
int mz_names_put(const struct mz_names *n, struct mz_writer *w);

#endif
