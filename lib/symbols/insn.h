/* SPDX-License-Identifier: BSD-2-Clause */
/* One x86-64 instruction: its length, and where it leads. Nothing else is decoded. */
#ifndef MZ_SYMBOLS_INSN_H
#define MZ_SYMBOLS_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mz_insn_kind { MZ_INSN_OTHER, MZ_INSN_CALL, MZ_INSN_RETURN };

struct mz_insn {
	unsigned len;
	enum mz_insn_kind kind;
	bool has_target; /* a direct branch, or an operand relative to the next instruction */
	uint64_t target;
	unsigned operand; /* where the four bytes of it are, from the start; 0: not four */
};

/* Of at most n bytes at address addr. False: no instruction; skip a byte. */
bool mz_insn_decode(const uint8_t *p, size_t n, uint64_t addr, struct mz_insn *in);

#endif
