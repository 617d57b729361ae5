/* SPDX-License-Identifier: BSD-2-Clause */
/* What an ELF file with its debugging information says about addresses. */
/*
 * It is one sorted table, built once from the symbols, .debug_line and .debug_info, and kept in the
 * user's cache by build ID. A lookup is a binary search.
 */
#ifndef MZ_SYMBOLS_IMAGE_H
#define MZ_SYMBOLS_IMAGE_H

#include <memorizer.h>

#define MZ_IMAGE_NONE UINT32_MAX

/* The table, in memory and in the cache. Names are offsets of strings; 0 is the empty one. */
struct mz_image_row {
	uint32_t at;	     /* from base; up to the next row */
	uint32_t scope;	     /* innermost; MZ_IMAGE_NONE = not known */
	uint32_t file, line; /* 0 = not known */
};

/* A function, or one that was inlined into its parent. */
struct mz_image_scope {
	uint32_t name;
	uint32_t parent; /* MZ_IMAGE_NONE: a function; always less than its own number */
	uint32_t call_file, call_line;
	uint32_t home;	/* of a function: the file it is in */
	uint32_t start; /* of a function: from base */
};

struct mz_image_symbol {
	uint64_t addr;
	uint64_t size;
	uint32_t name;
	uint32_t file; /* of a variable, if it is known */
};

struct mz_image {
	uint64_t base;
	struct mz_image_row *rows;
	struct mz_image_scope *scopes;
	struct mz_image_symbol *functions, *variables; /* by address */
	char *strings;
	size_t n_rows, n_scopes, n_functions, n_variables, n_strings;
	uint8_t id[64];
	size_t id_len;
	uint64_t file_size, file_time; /* of the file, ns; 0: known by its build id alone */
	bool has_lines;		       /* there was debugging information */
	bool fixed; /* addresses are those it runs at; else from where it is loaded */
	bool from_cache;
	void *map; /* NULL: the arrays are the image's own */
	size_t map_len;
};

/* path: an ELF file; its debugging information may be in another one (build id, debug
 * link, /usr/lib/debug, debuginfod if DEBUGINFOD_URLS is set). use_cache: read and
 * write the cache. NULL with err set. */
struct mz_image *mz_image_open(const char *path, bool use_cache, struct mz_error *err);
/* The same of a file that is only known by its build id. */
struct mz_image *mz_image_open_id(const uint8_t *id, size_t len, bool use_cache,
				  struct mz_error *err);
void mz_image_free(struct mz_image *im);

/* The build id of an ELF file (at most 64 bytes): its length, 0 = none, or no such file. */
size_t mz_image_id(const char *path, uint8_t *id);

struct mz_image_place {
	const char *function; /* that is really there; NULL = not known */
	uint64_t in_function;
	const char *file; /* of the source, innermost; NULL = not known */
	unsigned line;
	const char *home; /* the file of the function; NULL = not known */
	uint32_t scope;	  /* for mz_image_frame() */
};

/* addr as the file has it. False: it is in no code of this file. */
bool mz_image_find(const struct mz_image *im, uint64_t addr, struct mz_image_place *out);

/* The call that the scope was inlined at: the frame around. False: it is a function. */
bool mz_image_outer(const struct mz_image *im, uint32_t *scope, const char **file, unsigned *line);
const char *mz_image_scope_name(const struct mz_image *im, uint32_t scope);

/* The variable at (or around) the address; NULL = none. file may be NULL. */
const char *mz_image_variable(const struct mz_image *im, uint64_t addr, uint64_t *offset,
			      const char **file);
/* How long it is, and where it starts; 0 = not known. */
uint64_t mz_image_variable_size(const struct mz_image *im, uint64_t addr, uint64_t *start);
/* The address of a symbol, function or variable; 0 = none. Slow. */
uint64_t mz_image_symbol(const struct mz_image *im, const char *name);

/* image_build.c, reached through debuginfo.h. From the file itself; path NULL: by im->id.
 * 0 or -errno. */
int mz_image_build(struct mz_image *im, const char *path, struct mz_error *err);
size_t mz_image_read_id(const char *path, uint8_t *id);
/* image_cache.c */
bool mz_image_load(struct mz_image *im, const char *file);
void mz_image_save(const struct mz_image *im, const char *file);
/* Where the table of a file is kept (by build id, size and time: another file may claim the
 * same build id); false: there is no such folder. Makes it. */
bool mz_image_cache_path(const struct mz_image *im, char *buf, size_t size);

#endif
