/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of an image while it is built: what its files share. */
#ifndef MZ_SYMBOLS_IMAGE_BUILD_H
#define MZ_SYMBOLS_IMAGE_BUILD_H

#include <elfutils/libdwfl.h>

#include "base/pair_index.h"
#include "symbols/image.h"

#define DEEPEST 256 /* scopes within scopes; compilers stop far before */

struct range {
	uint32_t lo, hi; /* from base */
	uint32_t scope;
	uint32_t depth;
};

struct mz_image_line {
	uint32_t at;
	uint32_t order;	     /* of two at one address, the later counts */
	uint32_t file, line; /* line 0 and file 0: the end of a sequence */
};

struct section {
	uint64_t lo, hi;
};

struct build {
	struct mz_image *im;
	struct range *ranges;
	struct mz_image_line *lines;
	size_t n_ranges, cap_ranges, n_lines, cap_lines;
	size_t cap_scopes, cap_functions, cap_variables, cap_strings;
	struct section code[64];
	size_t n_code;
	struct mz_pair_index pointers; /* names of files that libdw gave before */
	uint32_t *names;	       /* by number of those: strings */
	size_t cap_names;
	struct mz_tables *interned;
	uint32_t *interned_at; /* by number: offset in strings */
	size_t cap_interned;
	Dwarf_Addr bias; /* of the DWARF: added to its addresses */
	Dwarf_Files *files;
	const char *folder; /* that the unit was compiled in; NULL = not known */
	bool failed;	    /* no memory */
};

/* image_build.c: offsets of strings; 0 with failed set = no memory. */
uint32_t mz_build_string(struct build *b, const char *s);
uint32_t mz_build_file(struct build *b, const char *path);
bool mz_build_is_code(const struct build *b, uint64_t addr);

/* image_dwarf.c: gather what a unit has. */
void mz_build_lines(struct build *b, Dwarf_Die *unit);
void mz_build_scopes(struct build *b, Dwarf_Die *die, uint32_t parent, uint32_t depth);

/* image_rows.c: the gathered becomes the table; false = no memory. */
bool mz_build_rows(struct build *b);
/* The kernel's files are called as from the root of its tree. */
void mz_build_cut_root(struct mz_image *im);

#endif
