/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the instructions of a kernel can do, by function, as the published privilege measures
 * count them in the disassembly of an instrumented kernel (docs/design.md).
 */
#ifndef MZ_SYMBOLS_CODE_H
#define MZ_SYMBOLS_CODE_H

#include <memorizer.h>

enum mz_op { MZ_OP_READ, MZ_OP_WRITE, MZ_OP_CALL, MZ_OP_RETURN, MZ_OP_FREE, MZ_OPS };

struct mz_code_function {
	const char *name;
	uint64_t start;
	uint64_t size; /* bytes of its instructions */
	uint64_t ops[MZ_OPS];
	unsigned missing; /* bits of ops that cannot be counted in this file */
};

/* The functions of an image, in the order of their addresses. */
struct mz_code {
	struct mz_code_function *functions;
	size_t n;
	/* private */
	size_t cap;
	char *names;
};

/* Counts the instructions of an ELF file (x86-64), through debuginfo.h. 0 or -errno with err
 * set; deinit in both cases. */
int mz_code_read(struct mz_code *c, const char *path, struct mz_error *err);
void mz_code_deinit(struct mz_code *c);

/* code_elf.c */
int mz_code_read_elf(struct mz_code *c, const char *path, struct mz_error *err);

#endif
