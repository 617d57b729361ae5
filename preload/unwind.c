// SPDX-License-Identifier: BSD-2-Clause
/* Unwind call stacks with .eh_frame tables and cache a rule per code address. */
#include "unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* ---- the module, without a lock: glibc 2.35 and later ------------------------ */

struct dl_find_object;
int _dl_find_object(void *pc, struct dl_find_object *result) __attribute__((weak));

bool mz_can_unwind(void)
{
#ifdef __x86_64__
	return _dl_find_object;
#else
	return false;
#endif
}

bool mz_find_module(uintptr_t pc, struct mz_module *m)
{
	struct dl_find_object o;

	if (!_dl_find_object || _dl_find_object((void *)pc, &o))
		return false;
	m->start = (uintptr_t)o.dlfo_map_start;
	m->end = (uintptr_t)o.dlfo_map_end;
	m->eh_frame_hdr = o.dlfo_eh_frame;
	m->bias = o.dlfo_link_map ? o.dlfo_link_map->l_addr : 0;
	m->path = o.dlfo_link_map && o.dlfo_link_map->l_name ? o.dlfo_link_map->l_name : "";
	return true;
}

/* ---- reading the tables --------------------------------------------------------- */

static uint64_t uleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = *(*p)++;
		v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static int64_t sleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = *(*p)++;
		v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
		shift += 7;
	} while (b & 0x80);
	if (shift < 64 && (b & 0x40))
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

static uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static uint64_t fixed(const uint8_t **p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, *p, bytes);
	*p += bytes;
	return v;
}

/* A pointer in one of the encodings of DW_EH_PE. */
static uintptr_t encoded(const uint8_t **p, uint8_t how, uintptr_t data)
{
	uintptr_t at = (uintptr_t)*p, v;

	switch (how & 0x0f) {
	case 0x01: v = uleb(p); break;
	case 0x02: v = (uint16_t)fixed(p, 2); break;
	case 0x03: v = (uint32_t)fixed(p, 4); break;
	case 0x09: v = (uintptr_t)sleb(p); break;
	case 0x0a: v = (uintptr_t)(int16_t)fixed(p, 2); break;
	case 0x0b: v = (uintptr_t)(int32_t)fixed(p, 4); break;
	default: v = fixed(p, 8); break;
	}
	if ((how & 0x70) == 0x10)
		v += at;
	else if ((how & 0x70) == 0x30)
		v += data;
	return v;
}

/* The FDE for pc, by the search table of .eh_frame_hdr; NULL = none. */
static const uint8_t *find_fde(const struct mz_module *m, uintptr_t pc)
{
	const uint8_t *hdr = m->eh_frame_hdr, *p = hdr + 4;
	size_t count, low = 0, high;
	const uint8_t *table;

	/* version 1, and the table in the only form that linkers write */
	if (!hdr || hdr[0] != 1 || hdr[2] == 0xff || hdr[3] != 0x3b)
		return NULL;
	encoded(&p, hdr[1], (uintptr_t)hdr);
	count = encoded(&p, hdr[2], (uintptr_t)hdr);
	table = p;
	high = count;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if ((uintptr_t)hdr + (uintptr_t)(int32_t)u32(table + mid * 8) <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? hdr + (int32_t)u32(table + (low - 1) * 8 + 4) : NULL;
}

/* ---- call frame instructions -------------------------------------------------------- */

enum { RBP = 6, RSP = 7, RA = 16, MAX_REMEMBERED = 8 };

struct state {
	struct mz_row row;
	uint64_t cfa_reg;
	bool expression; /* cfa by an expression: row.cfa says which */
	bool ra_undefined; /* there is no caller */
	bool ra_elsewhere; /* than just below the CFA: not known here */
};

struct cie {
	const uint8_t *code, *end;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal;
	bool augmented;
};

static bool parse_cie(const uint8_t *p, struct cie *c)
{
	uint32_t length = u32(p);
	const uint8_t *end = p + 4 + length;
	const char *aug;

	*c = (struct cie){.end = end};
	if (length == 0xffffffffu || u32(p + 4))
		return false;
	p += 9; /* length, id, version */
	aug = (const char *)p;
	p += strlen(aug) + 1;
	c->code_align = uleb(&p);
	c->data_align = sleb(&p);
	uleb(&p); /* the return address's register */
	if (*aug == 'z') {
		uint64_t n = uleb(&p);
		const uint8_t *q = p;

		c->augmented = true;
		p += n;
		for (aug++; *aug; aug++) {
			if (*aug == 'R')
				c->encoding = *q++;
			else if (*aug == 'L')
				q++;
			else if (*aug == 'P') {
				uint8_t how = *q++;

				encoded(&q, how & 0x7f, 0);
			} else if (*aug == 'S')
				c->signal = true;
		}
	}
	c->code = p;
	return true;
}

/* CFA = *(rbp + n): what a function that aligns its stack writes. */
static void cfa_expression(struct state *s, const uint8_t *p, uint64_t n)
{
	const uint8_t *end = p + n;
	int64_t offset;

	s->expression = true;
	s->row.cfa = MZ_CFA_END;
	if (n < 3 || *p++ != 0x70 + RBP)
		return;
	offset = sleb(&p);
	if (p + 1 == end && *p == 0x06) {
		s->row.cfa = MZ_CFA_DEREF_RBP;
		s->row.cfa_offset = (int32_t)offset;
	}
}

static void save(struct state *s, uint64_t reg, int64_t offset)
{
	if (reg == RBP) {
		s->row.saves_rbp = true;
		s->row.rbp_offset = (int32_t)offset;
	}
	if (reg == RA)
		s->ra_elsewhere = offset != -8;
}

static void restore(struct state *s, uint64_t reg, const struct state *first)
{
	if (reg == RBP) {
		s->row.saves_rbp = first->row.saves_rbp;
		s->row.rbp_offset = first->row.rbp_offset;
	}
}

static void set_cfa(struct state *s, uint64_t reg, int64_t offset)
{
	s->expression = false;
	s->cfa_reg = reg;
	s->row.cfa_offset = (int32_t)offset;
}

/* The instructions of the 6 bits that have no operand packed in. */
static bool extended(uint8_t op, const uint8_t **p, const struct cie *c, struct state *s,
		     const struct state *first)
{
	uint64_t reg, n;

	switch (op) {
	case 0x00: return true;
	case 0x05: reg = uleb(p); save(s, reg, (int64_t)uleb(p) * c->data_align); return true;
	case 0x06: restore(s, uleb(p), first); return true;
	case 0x07:
		reg = uleb(p);
		s->ra_undefined |= reg == RA;
		return true;
	case 0x08: restore(s, uleb(p), first); return true;
	case 0x09:
		reg = uleb(p);
		uleb(p);
		s->row.saves_rbp &= reg != RBP;
		return true;
	case 0x0c: reg = uleb(p); set_cfa(s, reg, (int64_t)uleb(p)); return true;
	case 0x0d: set_cfa(s, uleb(p), s->row.cfa_offset); return true;
	case 0x0e: s->row.cfa_offset = (int32_t)uleb(p); return true;
	case 0x0f:
		n = uleb(p);
		cfa_expression(s, *p, n);
		*p += n;
		return true;
	case 0x10:
	case 0x16:
		reg = uleb(p);
		n = uleb(p);
		/* rbp at *(rbp): as after push; written by functions that align */
		if (reg == RBP && n == 2 && (*p)[0] == 0x70 + RBP && (*p)[1] == 0)
			s->row.saves_rbp = true, s->row.rbp_offset = INT32_MIN;
		*p += n;
		return true;
	case 0x11: reg = uleb(p); save(s, reg, sleb(p) * c->data_align); return true;
	case 0x12: reg = uleb(p); set_cfa(s, reg, sleb(p) * c->data_align); return true;
	case 0x13: s->row.cfa_offset = (int32_t)(sleb(p) * c->data_align); return true;
	case 0x14: uleb(p); uleb(p); return true;
	case 0x15: uleb(p); sleb(p); return true;
	case 0x2e: uleb(p); return true;
	default: return false;
	}
}

/* Run the instructions up to the row of pc. False: something unknown. */
static bool run(const uint8_t *p, const uint8_t *end, const struct cie *c, uintptr_t loc,
		uintptr_t pc, struct state *s, const struct state *first)
{
	struct state kept[MAX_REMEMBERED];
	unsigned n = 0;

	while (p < end && loc <= pc) {
		uint8_t op = *p++;

		switch (op >> 6) {
		case 1: loc += (op & 0x3f) * c->code_align; continue;
		case 2: save(s, op & 0x3f, (int64_t)uleb(&p) * c->data_align); continue;
		case 3: restore(s, op & 0x3f, first); continue;
		default: break;
		}
		switch (op) {
		case 0x01: loc = encoded(&p, c->encoding, 0); break;
		case 0x02: loc += fixed(&p, 1) * c->code_align; break;
		case 0x03: loc += fixed(&p, 2) * c->code_align; break;
		case 0x04: loc += fixed(&p, 4) * c->code_align; break;
		case 0x0a:
			if (n == MAX_REMEMBERED)
				return false;
			kept[n++] = *s;
			break;
		case 0x0b:
			if (!n)
				return false;
			*s = kept[--n];
			break;
		default:
			if (!extended(op, &p, c, s, first))
				return false;
		}
	}
	return true;
}

struct mz_row mz_find_row(const struct mz_module *m, uintptr_t pc)
{
	static const struct mz_row end = {.cfa = MZ_CFA_END};
	const uint8_t *fde = find_fde(m, pc), *p;
	struct state s = {0}, first;
	uintptr_t start, length;
	struct cie c;

	if (!fde || u32(fde) == 0xffffffffu || !u32(fde) ||
	    !parse_cie(fde + 4 - u32(fde + 4), &c))
		return end;
	p = fde + 8;
	start = encoded(&p, c.encoding, 0);
	length = encoded(&p, c.encoding & 0x0f, 0);
	if (pc < start || pc - start >= length)
		return end;
	if (c.signal)
		return (struct mz_row){.cfa = MZ_CFA_SIGNAL};
	if (c.augmented)
		p += uleb(&p);
	if (!run(c.code, c.end, &c, 0, UINTPTR_MAX, &s, &s))
		return end;
	first = s;
	if (!run(p, fde + 4 + u32(fde), &c, start, pc, &s, &first) || s.ra_elsewhere)
		return end;
	if (s.ra_undefined)
		return (struct mz_row){.cfa = MZ_CFA_ROOT};
	if (!s.expression)
		s.row.cfa = s.cfa_reg == RSP ? MZ_CFA_RSP : s.cfa_reg == RBP ? MZ_CFA_RBP : MZ_CFA_END;
	return s.row;
}
