/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of symbols share. */
#ifndef MZ_SYMBOLS_PRIVATE_H
#define MZ_SYMBOLS_PRIVATE_H

#include "base/pair_index.h"
#include "symbols/demangle.h"
#include "symbols/image.h"
#include "symbols/kallsyms.h"
#include "symbols/symbols.h"
#include "trace/names.h"

/* A file whose code was in memory, somewhere. */
struct mz_symbols_module {
	uint64_t base, length;
	uint64_t shift; /* address in memory - address in the image */
	char *path;
	const char *name;
	uint8_t id[64];
	size_t id_len;
	bool gone;   /* the file is not there, or another one by now */
	bool opened; /* an attempt was made */
	struct mz_image *image;
};

struct mz_symbols {
	struct mz_symbols_module *modules;
	size_t count, cap;
	const struct mz_names *names; /* names that the trace contains: these take precedence */
	struct mz_names *own_names;
	struct mz_kallsyms *kallsyms; /* of a kernel, as it ran */
	int64_t list_shift;	      /* added to an address before looking into kallsyms */
	bool linked_list;	      /* it is a System.map: as linked, not as it ran */
	struct mz_kallsyms *files;    /* a System.map with source files; NULL = none */
	int64_t files_shift;	      /* added to an address before looking into it */
	struct mz_kallsyms *globals;  /* variables as they were while it ran; NULL = none */
	bool kernel;
	unsigned missing;
	/* found before: by number of the address */
	struct mz_pair_index known;
	struct mz_symbol *found;
	bool *is_found;
	size_t cap_found, cap_is_found;
	struct mz_tables *texts; /* made here: folders, demangled names */
	struct mz_demangle *demangle;
};

/* A module with the image of its file; NULL = no memory. path is copied. */
struct mz_symbols_module *mz_symbols_add(struct mz_symbols *s, const char *path);
struct mz_symbols *mz_symbols_new(void);

/* kaslr.c, reached through debuginfo.h: how far a kernel was moved, by return addresses that were
 * seen in it. */
bool mz_kaslr_guess(const char *vmlinux, const uint64_t *ips, size_t n, uint64_t *shift);
size_t mz_kaslr_calls(const char *vmlinux, const uint64_t *ips, size_t n, size_t *tried);

#endif
