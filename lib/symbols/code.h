/* SPDX-License-Identifier: BSD-2-Clause */
/* What the instructions of a kernel can do, by function. */
/*
 * They are counted as the published privilege measures do it in the disassembly of an instrumented
 * kernel (docs/design.md).
 */
#ifndef MZ_SYMBOLS_CODE_H
#define MZ_SYMBOLS_CODE_H

#include <memorizer.h>

enum mz_code_op {
	MZ_CODE_OP_READ,
	MZ_CODE_OP_WRITE,
	MZ_CODE_OP_CALL,
	MZ_CODE_OP_RETURN,
	MZ_CODE_OP_FREE,
	MZ_CODE_OPS
};

struct mz_code_function {
	const char *name;
	uint64_t start;
	uint64_t size; /* bytes of its instructions */
	uint64_t ops[MZ_CODE_OPS];
	unsigned missing; /* bits of ops that cannot be counted in this file */
};

/* A section of code, as the addresses of its functions have it. */
struct mz_code_section {
	uint64_t addr, size;
	size_t index;	 /* in the ELF file */
	uint64_t loaded; /* where the kernel has it, or MZ_CODE_NOWHERE: mz_code_module_read() */
};

/* The functions of an image, in the order of their addresses. */
struct mz_code {
	struct mz_code_function *functions;
	size_t n;
	/* A module is not linked: its sections follow each other from 0, and only the kernel that
	 * loads it knows where they are (mz_code_place). */
	bool relocatable;
	struct mz_code_section *sections;
	size_t n_sections;
	/* private */
	size_t cap;
	char *names;
};

/* Counts the instructions of an ELF file (x86-64), through debuginfo.h. 0 or -errno with err
 * set; deinit in both cases. */
int mz_code_read(struct mz_code *c, const char *path, struct mz_error *err);
void mz_code_deinit(struct mz_code *c);

#define MZ_CODE_NOWHERE UINT64_MAX

/* A list of names with their addresses in another view of the same code. */
struct mz_code_name {
	const char *name;
	uint64_t addr;
};

/* Where the list has each section of code: by section, its address there, or MZ_CODE_NOWHERE if
 * it has no name of it. Only names that are unique on both sides count. Sorts the list. 0, -ENOMEM,
 * or -EINVAL: names of one section disagree, so the list is of another build. */
int mz_code_place(const struct mz_code *c, struct mz_code_name *list, size_t n, uint64_t *at);
/* The section that holds the i-th function. */
size_t mz_code_section_of(const struct mz_code *c, size_t i);

/* code_elf.c */
int mz_code_read_elf(struct mz_code *c, const char *path, struct mz_error *err);

#endif
