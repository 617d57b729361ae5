// SPDX-License-Identifier: BSD-2-Clause
/* Measure x86-64 instructions. */
/*
 * They consist of prefixes, opcode, operand bytes, immediate. Tables say which opcodes have a ModRM
 * byte and how long their immediate is; nothing else is needed to find the next instruction.
 */
#include "symbols/insn.h"

#include <string.h>

/* Of an opcode. */
#define M  1u  /* a ModRM byte follows */
#define I1 2u  /* an immediate of one byte */
#define I2 4u  /* of two */
#define IZ 8u  /* of four, or two with the prefix 66 */
#define R1 16u /* a branch: by one byte */
#define R4 32u /* by four */
#define X  64u /* no instruction in 64-bit mode */

/* Each letter is one opcode, sixteen to a row: . none, m ModRM, b ModRM and a byte, z ModRM and
 * four bytes, 1 one byte, 2 two, 4 four, j branch by one, J by four, - invalid. */
static const char one_byte[] = "mmmm14--mmmm14-." /* 0f and prefixes are handled before */
			       "mmmm14--mmmm14--"
			       "mmmm14.-mmmm14.-"
			       "mmmm14.-mmmm14.-"
			       "................"
			       "................"
			       "---m....4z1b...."
			       "jjjjjjjjjjjjjjjj"
			       "bz-bmmmmmmmmmmmm"
			       "..........-....."
			       "........14......"
			       "1111111144444444"
			       "bb2.--bz3.2..1-."
			       "mmmm---.mmmmmmmm"
			       "jjjj1111JJ-j...."
			       "......mm......mm";
static const char two_byte[] = "mmmm-....." /* 00 */
			       "-.-m.b"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm" /* 20 */
			       "......-.m-b-----"
			       "mmmmmmmmmmmmmmmm" /* 40 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm" /* 60 */
			       "bbbbmmm.mmmmmmmm"
			       "JJJJJJJJJJJJJJJJ" /* 80 */
			       "mmmmmmmmmmmmmmmm"
			       "...mbmmm...mbmmm" /* a0 */
			       "mmmmmmmmmmbmmmmm"
			       "mmbmbbbm........" /* c0 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm" /* e0 */
			       "mmmmmmmmmmmmmmmm";

static unsigned flags_of(char letter)
{
	switch (letter) {
	case 'm': return M;
	case 'b': return M | I1;
	case 'z': return M | IZ;
	case '1': return I1;
	case '2': return I2;
	case '3': return I1 | I2;
	case '4': return IZ;
	case 'j': return R1;
	case 'J': return R4;
	case '-': return X;
	default: return 0;
	}
}

struct decoder {
	const uint8_t *start, *p, *end;
	bool wide, short_operand, short_address; /* REX.W, 66, 67 */
	unsigned map;				 /* 0: one byte, 1: 0f, 2: 0f38, 3: 0f3a */
	uint8_t opcode;
	bool vex;
	uint8_t modrm;
	const uint8_t *relative; /* operand relative to the next instruction */
};

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e ||
	       b == 0x36 || b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65;
}

static void take_prefixes(struct decoder *d)
{
	for (; d->p < d->end && is_prefix(*d->p); d->p++) {
		d->short_operand |= *d->p == 0x66;
		d->short_address |= *d->p == 0x67;
	}
	if (d->p < d->end && (*d->p & 0xf0) == 0x40)
		d->wide = *d->p++ & 8;
}

/* VEX and EVEX hold the map and what else prefixes say in their bytes. */
static bool take_vex(struct decoder *d)
{
	unsigned n = *d->p == 0xc5 ? 2 : *d->p == 0xc4 ? 3 : 4;

	if ((size_t)(d->end - d->p) <= n)
		return false;
	d->map = n == 2 ? 1 : d->p[1] & (n == 3 ? 0x1f : 7);
	d->vex = true;
	d->p += n;
	d->opcode = *d->p++;
	return d->map >= 1 && d->map <= 6;
}

static bool take_opcode(struct decoder *d)
{
	if (d->p == d->end)
		return false;
	if (*d->p == 0xc4 || *d->p == 0xc5 || *d->p == 0x62)
		return take_vex(d);
	d->opcode = *d->p++;
	if (d->opcode != 0x0f)
		return true;
	d->map = 1;
	for (;;) {
		if (d->p == d->end)
			return false;
		d->opcode = *d->p++;
		if (d->map > 1 || (d->opcode != 0x38 && d->opcode != 0x3a))
			return true;
		d->map = d->opcode == 0x38 ? 2 : 3;
	}
}

static bool take_modrm(struct decoder *d)
{
	unsigned mod, rm, disp = 0;

	if (d->p == d->end)
		return false;
	d->modrm = *d->p++;
	mod = d->modrm >> 6;
	rm = d->modrm & 7;
	/* control and debug registers: always a register, whatever mod says */
	if (mod == 3 || (!d->vex && d->map == 1 && d->opcode >= 0x20 && d->opcode <= 0x23))
		return true;
	if (rm == 4) {
		if (d->p == d->end)
			return false;
		if (mod == 0 && (*d->p & 7) == 5)
			disp = 4;
		d->p++;
	} else if (mod == 0 && rm == 5) {
		disp = 4;
		d->relative = d->p;
	}
	disp = mod == 1 ? 1 : mod == 2 ? 4 : disp;
	if ((size_t)(d->end - d->p) < disp)
		return false;
	d->p += disp;
	return true;
}

static unsigned flags(const struct decoder *d)
{
	if (d->map == 0)
		return flags_of(one_byte[d->opcode]);
	if (d->map == 1 && !d->vex)
		return flags_of(two_byte[d->opcode]);
	if (d->map == 1) /* of these only vzeroupper has no operand */
		return d->opcode == 0x77 ? 0 : flags_of(two_byte[d->opcode]) | M;
	return d->map == 3 ? M | I1 : M;
}

/* Those whose immediate depends on more than the opcode. */
static unsigned immediate(const struct decoder *d, unsigned f)
{
	unsigned z = d->short_operand && !d->wide ? 2 : 4;

	if (d->map == 0) {
		if (d->opcode >= 0xb8 && d->opcode <= 0xbf && d->wide)
			return 8;
		if (d->opcode >= 0xa0 && d->opcode <= 0xa3)
			return d->short_address ? 4 : 8;
		if ((d->opcode == 0xf6 || d->opcode == 0xf7) && (d->modrm >> 3 & 7) < 2)
			return d->opcode == 0xf6 ? 1 : z;
	}
	return (f & I1 ? 1u : 0) + (f & I2 ? 2u : 0) + (f & IZ ? z : 0) + (f & R1 ? 1u : 0) +
	       (f & R4 ? 4u : 0);
}

static enum mz_insn_kind kind_of(const struct decoder *d)
{
	unsigned reg = d->modrm >> 3 & 7;

	if (d->vex)
		return MZ_INSN_OTHER;
	if (d->map == 1) /* sysretq */
		return d->opcode == 0x07 && d->wide ? MZ_INSN_RETURN : MZ_INSN_OTHER;
	if (d->map)
		return MZ_INSN_OTHER;
	switch (d->opcode) {
	case 0xe8: return MZ_INSN_CALL;
	case 0xff: return reg == 2 ? MZ_INSN_CALL : MZ_INSN_OTHER;
	case 0xc2:
	case 0xc3: return MZ_INSN_RETURN;
	case 0xca: /* far, and from interrupts */
	case 0xcb:
	case 0xcf: return d->wide ? MZ_INSN_RETURN : MZ_INSN_OTHER;
	default: return MZ_INSN_OTHER;
	}
}

static int64_t signed_at(const uint8_t *p, unsigned bytes)
{
	int32_t v;

	if (bytes == 1)
		return (int8_t)*p;
	memcpy(&v, p, sizeof(v));
	return v;
}

static void find_target(const struct decoder *d, unsigned f, unsigned imm, uint64_t addr,
			struct mz_insn *in)
{
	const uint8_t *at = d->relative;
	unsigned bytes = 4;

	if (f & (R1 | R4)) {
		at = d->p - imm;
		bytes = f & R1 ? 1 : 4;
	}
	if (!at)
		return;
	in->has_target = true;
	in->target = addr + in->len + (uint64_t)signed_at(at, bytes);
	in->operand = bytes == 4 ? (unsigned)(at - d->start) : 0;
}

bool mz_insn_decode(const uint8_t *p, size_t n, uint64_t addr, struct mz_insn *in)
{
	/* no instruction is longer than 15 bytes */
	struct decoder d = {.start = p, .p = p, .end = p + (n < 15 ? n : 15)};
	unsigned f, imm;

	*in = (struct mz_insn){0};
	take_prefixes(&d);
	if (!take_opcode(&d))
		return false;
	f = flags(&d);
	if ((f & X) || ((f & M) && !take_modrm(&d)))
		return false;
	imm = immediate(&d, f);
	if ((size_t)(d.end - d.p) < imm)
		return false;
	d.p += imm;
	in->len = (unsigned)(d.p - p);
	in->kind = kind_of(&d);
	find_target(&d, f, imm, addr, in);
	return true;
}
