/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of a kernel, with what their instructions can do. */
/*
 * For each, it is known how many read, write, call, return and free. The figures come from a table
 * (CSV: name,file,start,size,read,write,call,return,free), or they are counted in the kernel's
 * image.
 */
#ifndef MZ_ANALYSIS_FUNCTIONS_H
#define MZ_ANALYSIS_FUNCTIONS_H

#include "base/bytes_index.h"
#include "symbols/code_module.h"

#define MZ_FUNCTION_NONE UINT32_MAX

/* Parts of the same name and file are one function. */
struct mz_function {
	uint32_t name, file; /* offsets of text; 0 = none */
	uint64_t start;	     /* of its first part */
	uint64_t size;	     /* bytes of instructions */
	uint64_t ops[MZ_CODE_OPS];
};

/* The location of a part of a function. */
struct mz_function_part {
	uint64_t start, size;
	uint32_t function;
};

struct mz_functions {
	struct mz_function *functions;	/* in the order of their addresses */
	struct mz_function_part *parts; /* by address */
	size_t n, n_parts;
	unsigned missing; /* bits of ops that some function has no count for */
	bool dense;	  /* functions follow each other without gaps: none is left out */
	bool high; /* code of a kernel; lower addresses are relative to a module, not in memory */
	struct mz_code_modules modules; /* that the kernel had loaded */
	size_t modules_plain; /* of them: left out, because their accesses cannot be counted */
	char *text;
	size_t text_len;

	/* private */
	size_t cap, cap_parts, text_cap;
};

void mz_functions_deinit(struct mz_functions *f);

/* A table in a file. 0 or -errno with err set; deinit in both cases. */
int mz_functions_read(struct mz_functions *f, const char *path, struct mz_error *err);
/* Counted in an ELF file, whose debugging information has the source files. */
int mz_functions_count(struct mz_functions *f, const char *path, struct mz_error *err);
/* Counts the functions of the vmlinux that the symbols name (symbols NULL: the one beside the map),
 * and of the modules that this kernel had loaded, if the symbols have kallsyms and a folder with
 * their files. *vmlinux gets the path, to be freed. */
int mz_functions_open(struct mz_functions *f, const char *symbols, const char *map, char **vmlinux,
		      struct mz_error *err);
/* One part, with its counts; missing: bits of ops that are not known. Then end. 0 or -ENOMEM. */
int mz_functions_add(struct mz_functions *f, const struct mz_code_function *part, const char *file);
int mz_functions_end(struct mz_functions *f);

/* The function that contains the address or ends directly before it, as before a return address. In
 * a dense table, bytes between two functions belong to the first. MZ_FUNCTION_NONE: none. */
uint32_t mz_functions_find(const struct mz_functions *f, uint64_t addr);

static inline const char *mz_functions_text(const struct mz_functions *f, uint32_t at)
{
	return f->text ? f->text + at : "";
}

#endif
