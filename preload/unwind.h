/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk up the stack of a program that was built without frame pointers. */
/*
 * The unwind tables (.eh_frame) contain, for each code address, where the caller's frame is. The
 * result is computed once per address and kept.
 */
#ifndef MZ_PRELOAD_UNWIND_H
#define MZ_PRELOAD_UNWIND_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* How to get from a frame to that of its caller. CFA: the address above the frame. */
enum mz_cfa {
	MZ_CFA_END,	  /* the tables do not tell */
	MZ_CFA_RSP,	  /* rsp + offset */
	MZ_CFA_RBP,	  /* rbp + offset */
	MZ_CFA_DEREF_RBP, /* what rbp + offset points to */
	MZ_CFA_ROOT,	  /* there is no caller: the program or the thread begins here */
	MZ_CFA_SIGNAL,	  /* the kernel called: the registers lie at rsp */
	MZ_CFA_BARE,	  /* code of a module that has no table for it */
};

struct mz_row {
	uint8_t cfa; /* enum mz_cfa */
	bool saves_rbp;
	int32_t cfa_offset;
	int32_t rbp_offset; /* of the saved rbp, from the CFA */
};

/* The module that code belongs to. */
struct mz_module {
	uintptr_t start, end;
	uintptr_t bias; /* load address */
	const void *eh_frame_hdr;
	uintptr_t tables, tables_end; /* the segment that it lies in; 0 = not to be read */
	const char *path;	      /* "" = the program itself */
};

HIDDEN bool mz_find_module(uintptr_t pc, struct mz_module *m);

/* Is there a module? */
HIDDEN bool mz_in_module(uintptr_t pc);

/* The program headers of a module; 0 = they cannot be read. */
HIDDEN unsigned mz_program_headers(const struct mz_module *m, const ElfW(Phdr) * *ph);

/* Does this lie in one segment of the module, and can it be read? */
HIDDEN bool mz_may_read(const struct mz_module *m, uintptr_t at, size_t bytes);

/* Is the address in what the module's file has as code? */
HIDDEN bool mz_is_text(const struct mz_module *m, uintptr_t pc);

/* The row for a code address, from the tables. */
HIDDEN struct mz_row mz_find_row(const struct mz_module *m, uintptr_t pc);

/* Which pages can be read is kept here: zeros, as large as mz_unwind_table() says. */
HIDDEN size_t mz_unwind_table(void);
HIDDEN void mz_unwind_use(void *table);

/* Are the required processor and C library there? */
HIDDEN bool mz_can_unwind(void);

#endif
