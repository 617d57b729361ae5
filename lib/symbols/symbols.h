/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of code to names, for kernels and programs alike. */
/*
 * A name consists of the function, the functions inlined there, file and line, folder, and module.
 * An address without a name stays an address.
 */
#ifndef MZ_SYMBOLS_SYMBOLS_H
#define MZ_SYMBOLS_SYMBOLS_H

#include <memorizer.h>

struct mz_symbols;

struct mz_symbol {
	const char *function; /* that is really there, demangled; NULL = not known */
	uint64_t in_function; /* of the address, from the start of the function */
	const char *file;     /* of the line in that function; NULL = not known */
	int line;
	const char *home;   /* the file that the function is in; NULL = not known */
	const char *dir;    /* the folder of that file; NULL = not known */
	const char *module; /* the file's name, without folders; NULL = not known, or the kernel */
	uint64_t offset;    /* of the address in the module */
};

/* user.c: for the modules that a trace names: attributes module.N, each "BASE LENGTH
 * BUILD-ID PATH", numbers in hex. NULL = no memory. */
struct mz_symbols *mz_symbols_open(const struct mz_reader *r);

/* kernel.c: for a kernel. Any may be NULL; with none of them nothing is known.
 * With vmlinux and kallsyms (or marks, below) the shift by KASLR is found. */
struct mz_symbols_kernel {
	const char *kallsyms; /* as it ran: functions, variables, modules */
	const char *map;      /* System.map: as it was linked; perhaps with source files
				 (scripts/kernel-files) */
	const char *vmlinux;  /* with DWARF: lines and inlined functions */
	const char *modules;  /* a folder with .ko files, for their lines */
	const char *globals;  /* upstream's global_table: variables and their source files */
	const char *btf;      /* types, where vmlinux has none: not for the symbols */
	const char *list;     /* lines of kallsyms that a recording contains: without a kallsyms */
	size_t list_size;
};
struct mz_symbols *mz_symbols_open_kernel(const struct mz_symbols_kernel *files,
					  struct mz_error *err);
/* Determines by content what a file is: kallsyms, System.map, vmlinux or BTF. Sets one of files.
 * False: none of them. */
bool mz_symbols_sort(const char *path, struct mz_symbols_kernel *files);
/* Return addresses that were seen, from which the shift is derived if kallsyms does not show it. */
void mz_symbols_shift_by(struct mz_symbols *s, const uint64_t *ips, size_t n);
/* How far the kernel was moved from where it was linked. */
int64_t mz_symbols_shift(const struct mz_symbols *s);

/* The kernel's list as it ran, as long as the symbols are open; NULL = none. */
struct mz_kallsyms;
const struct mz_kallsyms *mz_symbols_list(const struct mz_symbols *s);

void mz_symbols_close(struct mz_symbols *s);

/* The place before a return address: the call. Strings are borrowed until the
 * symbols are closed. False: not in any module. */
bool mz_symbols_find(struct mz_symbols *s, uint64_t ip, struct mz_symbol *out);

/* The same with everything that was inlined there, innermost first; the last is the
 * real function. Returns how many; 0 = not known. */
struct mz_symbol_frame {
	const char *function, *file; /* NULL = not known */
	unsigned line;
};
size_t mz_symbols_frames(struct mz_symbols *s, uint64_t ip, struct mz_symbol_frame *frames,
			 size_t max);

/* The variable that holds the address; NULL = none. */
struct mz_symbol_variable {
	const char *name;
	uint64_t offset;  /* of the address in it */
	const char *file; /* of the source; NULL = not known */
	const char *dir;  /* of that file */
};
bool mz_symbols_variable(struct mz_symbols *s, uint64_t addr, struct mz_symbol_variable *out);

/* The size of the variable that holds the address, and where it starts; 0 = not known. */
uint64_t mz_symbols_variable_size(struct mz_symbols *s, uint64_t addr, uint64_t *start);

/* Modules whose file is gone, or another one by now. */
unsigned mz_symbols_missing(const struct mz_symbols *s);
/* There are lines and folders for a part of it. */
bool mz_symbols_has_lines(struct mz_symbols *s);

#endif
