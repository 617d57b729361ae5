// SPDX-License-Identifier: BSD-2-Clause
/* Unwind call stacks with .eh_frame tables and cache a rule per code address. */
#include "unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "system.h"

#define PAGE	    4096u
#define PAGES	    4096u /* kept pages: 32 KiB */
#define HEADER_MOST 32u	  /* of .eh_frame_hdr, before its search table */

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

bool mz_in_module(uintptr_t pc)
{
	struct dl_find_object o;

	return _dl_find_object && !_dl_find_object((void *)pc, &o);
}

/* ---- what may be read ---------------------------------------------------------- */

/* Pages that could be read once, by their number. Used by all threads without a lock. */
static uintptr_t *pages;

size_t mz_unwind_table(void)
{
	return PAGES * sizeof(*pages);
}

void mz_unwind_use(void *table)
{
	pages = table;
}

/* A segment may reach past the end of its file, or have been unmapped: its headers do not tell. The
 * kernel is asked once per page. */
static bool can_read(uintptr_t at, size_t bytes)
{
	for (uintptr_t page = at & ~(uintptr_t)(PAGE - 1); page < at + bytes; page += PAGE) {
		uintptr_t *known = &pages[page / PAGE % PAGES];

		if (__atomic_load_n(known, __ATOMIC_RELAXED) == (page | 1))
			continue;
		if (!mz_readable(page))
			return false;
		__atomic_store_n(known, page | 1, __ATOMIC_RELAXED);
	}
	return true;
}

/* They are in the first page of the file, which is mapped first, unless a tool that rewrites
 * programs has put them elsewhere. */
unsigned mz_program_headers(const struct mz_module *m, const ElfW(Phdr) * *ph)
{
	const ElfW(Ehdr) *head = (const void *)m->start;
	uintptr_t at, end;

	if (m->end - m->start < PAGE || !can_read(m->start, sizeof(*head)) ||
	    memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_phentsize != sizeof(**ph) ||
	    head->e_phoff >= m->end - m->start)
		return 0;
	at = m->start + head->e_phoff;
	end = at + head->e_phnum * sizeof(**ph);
	if (end > m->end || end - at > PAGE || !can_read(at, end - at))
		return 0;
	*ph = (const void *)at;
	return head->e_phnum;
}

/* The segment that contains an address, if it has these rights; NULL = none. There may be
 * nothing mapped between the segments of a module. */
static const ElfW(Phdr) * find_segment(const struct mz_module *m, uintptr_t at, uint32_t rights)
{
	const ElfW(Phdr) *ph = NULL;
	unsigned n = mz_program_headers(m, &ph);

	for (unsigned i = 0; i < n; i++) {
		uintptr_t start = m->bias + ph[i].p_vaddr, end = start + ph[i].p_filesz;

		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & rights) == rights &&
		    start >= m->start && start < end && end <= m->end && at >= start && at < end)
			return &ph[i];
	}
	return NULL;
}

bool mz_may_read(const struct mz_module *m, uintptr_t at, size_t bytes)
{
	const ElfW(Phdr) *ph = find_segment(m, at, PF_R);

	return ph && bytes <= m->bias + ph->p_vaddr + ph->p_filesz - at && can_read(at, bytes);
}

bool mz_is_text(const struct mz_module *m, uintptr_t pc)
{
	return find_segment(m, pc, PF_X);
}

/* A program whose segments are not adjacent is found by segment: it is taken as a whole. */
static void take_whole(struct mz_module *m)
{
	const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);

	for (unsigned long i = 0; ph && i < getauxval(AT_PHNUM); i++) {
		uintptr_t start = m->bias + (ph[i].p_vaddr & ~(uintptr_t)(PAGE - 1));
		uintptr_t end = m->bias + ph[i].p_vaddr + ph[i].p_memsz;

		if (ph[i].p_type != PT_LOAD)
			continue;
		m->start = start < m->start ? start : m->start;
		m->end = end > m->end ? end : m->end;
	}
}

bool mz_find_module(uintptr_t pc, struct mz_module *m)
{
	struct dl_find_object o;
	const ElfW(Phdr) * ph;

	if (!_dl_find_object || _dl_find_object((void *)pc, &o))
		return false;
	m->start = (uintptr_t)o.dlfo_map_start;
	m->end = (uintptr_t)o.dlfo_map_end;
	m->eh_frame_hdr = o.dlfo_eh_frame;
	m->bias = o.dlfo_link_map ? o.dlfo_link_map->l_addr : 0;
	m->path = o.dlfo_link_map && o.dlfo_link_map->l_name ? o.dlfo_link_map->l_name : "";
	if (!*m->path)
		take_whole(m);
	ph = find_segment(m, (uintptr_t)m->eh_frame_hdr, PF_R);
	m->tables = ph ? m->bias + ph->p_vaddr : 0;
	m->tables_end = ph ? m->tables + ph->p_filesz : 0;
	return true;
}

/* ---- reading the tables --------------------------------------------------------- */

/* Nothing is read from end on: after it everything is 0, and bad. */
struct in {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t fixed(struct in *in, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(in->end - in->p) < bytes) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	memcpy(&v, in->p, bytes);
	in->p += bytes;
	return v;
}

static void skip(struct in *in, uint64_t bytes)
{
	if ((uint64_t)(in->end - in->p) < bytes) {
		in->bad = true;
		bytes = (uint64_t)(in->end - in->p);
	}
	in->p += bytes;
}

/* The bits of a LEB128 number; *shift: how many, *last: the byte that ends it. */
static uint64_t leb(struct in *in, unsigned *shift, uint8_t *last)
{
	uint64_t v = 0;

	*shift = 0;
	do {
		*last = (uint8_t)fixed(in, 1);
		v |= *shift < 64 ? (uint64_t)(*last & 0x7f) << *shift : 0;
		*shift += 7;
	} while (*last & 0x80);
	return v;
}

static uint64_t uleb(struct in *in)
{
	unsigned shift;
	uint8_t last;

	return leb(in, &shift, &last);
}

static int64_t sleb(struct in *in)
{
	unsigned shift;
	uint8_t last;
	uint64_t v = leb(in, &shift, &last);

	if (shift < 64 && (last & 0x40))
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

/* A pointer in one of the encodings of DW_EH_PE. */
static uintptr_t encoded(struct in *in, uint8_t how, uintptr_t data)
{
	uintptr_t at = (uintptr_t)in->p, v;

	switch (how & 0x0f) {
	case 0x01: v = uleb(in); break;
	case 0x02: v = (uint16_t)fixed(in, 2); break;
	case 0x03: v = (uint32_t)fixed(in, 4); break;
	case 0x09: v = (uintptr_t)sleb(in); break;
	case 0x0a: v = (uintptr_t)(int16_t)fixed(in, 2); break;
	case 0x0b: v = (uintptr_t)(int32_t)fixed(in, 4); break;
	default: v = fixed(in, 8); break;
	}
	if ((how & 0x70) == 0x10)
		v += at;
	else if ((how & 0x70) == 0x30)
		v += data;
	return v;
}

/* A place in the tables, whatever address they contain for it, and at most so many bytes. */
static struct in in_tables(const struct mz_module *m, uintptr_t at, size_t bytes)
{
	if (at < m->tables || at >= m->tables_end)
		return (struct in){.bad = true};
	if (bytes > m->tables_end - at)
		bytes = m->tables_end - at;
	if (!can_read(at, bytes))
		return (struct in){.bad = true};
	return (struct in){.p = (const uint8_t *)at, .end = (const uint8_t *)at + bytes};
}

static int32_t offset_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The FDE for pc, by the search table of .eh_frame_hdr; 0 = none. */
static uintptr_t find_fde(const struct mz_module *m, uintptr_t pc)
{
	uintptr_t hdr = (uintptr_t)m->eh_frame_hdr;
	struct in in = in_tables(m, hdr, HEADER_MOST);
	uint8_t version = (uint8_t)fixed(&in, 1), frame = (uint8_t)fixed(&in, 1);
	uint8_t counts = (uint8_t)fixed(&in, 1), form = (uint8_t)fixed(&in, 1);
	size_t low = 0, high;

	/* version 1, and the table in the only form that linkers write */
	if (in.bad || version != 1 || counts == 0xff || form != 0x3b)
		return 0;
	encoded(&in, frame, hdr);
	high = encoded(&in, counts, hdr);
	if (in.bad || high > (m->tables_end - (uintptr_t)in.p) / 8)
		return 0;
	while (low < high) {
		size_t mid = (low + high) / 2;
		const uint8_t *p = in.p + mid * 8;

		if (!can_read((uintptr_t)p, 8))
			return 0;
		if (hdr + (uintptr_t)(intptr_t)offset_at(p) <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? hdr + (uintptr_t)(intptr_t)offset_at(in.p + (low - 1) * 8 + 4) : 0;
}

/* ---- call frame instructions -------------------------------------------------------- */

enum { RBP = 6, RSP = 7, RA = 16, MAX_REMEMBERED = 8 };

struct cfa_state {
	struct mz_row row;
	uint64_t cfa_reg;
	bool expression;   /* cfa by an expression: row.cfa says which */
	bool ra_undefined; /* there is no caller */
	bool ra_elsewhere; /* than just below the CFA: not known here */
};

struct cie {
	struct in code;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal;
	bool augmented;
};

/* The meaning of an augmentation, letter by letter. */
static void parse_augmentation(struct in in, const char *letters, struct cie *c)
{
	for (; *letters && !in.bad; letters++) {
		if (*letters == 'R')
			c->encoding = (uint8_t)fixed(&in, 1);
		else if (*letters == 'L')
			skip(&in, 1);
		else if (*letters == 'P')
			encoded(&in, (uint8_t)fixed(&in, 1) & 0x7f, 0);
		else if (*letters == 'S')
			c->signal = true;
	}
}

/* The head of an entry of the tables; bad = there is none. */
static struct in entry_at(const struct mz_module *m, uintptr_t at)
{
	struct in in = in_tables(m, at, 4);
	uint32_t length = (uint32_t)fixed(&in, 4);

	if (in.bad || !length || length == 0xffffffffu || length > m->tables_end - at - 4)
		return (struct in){.bad = true};
	return in_tables(m, at + 4, length);
}

static bool parse_cie(const struct mz_module *m, uintptr_t at, struct cie *c)
{
	struct in in = entry_at(m, at);
	const char *aug;

	*c = (struct cie){0};
	if (in.bad || fixed(&in, 4))
		return false;
	skip(&in, 1); /* version */
	aug = (const char *)in.p;
	while (fixed(&in, 1))
		;
	c->code_align = uleb(&in);
	c->data_align = sleb(&in);
	uleb(&in); /* the return address's register */
	if (in.bad)
		return false;
	if (*aug == 'z') {
		uint64_t n = uleb(&in);
		struct in letters = in;

		c->augmented = true;
		skip(&in, n);
		parse_augmentation(letters, aug + 1, c);
	}
	c->code = in;
	return !in.bad;
}

/* CFA = *(rbp + n): what a function that aligns its stack writes. */
static void cfa_expression(struct cfa_state *s, struct in in)
{
	int64_t offset;

	s->expression = true;
	s->row.cfa = MZ_CFA_END;
	if (fixed(&in, 1) != 0x70 + RBP)
		return;
	offset = sleb(&in);
	if (in.end - in.p == 1 && *in.p == 0x06) {
		s->row.cfa = MZ_CFA_DEREF_RBP;
		s->row.cfa_offset = (int32_t)offset;
	}
}

static void save(struct cfa_state *s, uint64_t reg, int64_t offset)
{
	if (reg == RBP) {
		s->row.saves_rbp = true;
		s->row.rbp_offset = (int32_t)offset;
	}
	if (reg == RA)
		s->ra_elsewhere = offset != -8;
}

static void restore(struct cfa_state *s, uint64_t reg, const struct cfa_state *first)
{
	if (reg == RBP) {
		s->row.saves_rbp = first->row.saves_rbp;
		s->row.rbp_offset = first->row.rbp_offset;
	}
}

static void set_cfa(struct cfa_state *s, uint64_t reg, int64_t offset)
{
	s->expression = false;
	s->cfa_reg = reg;
	s->row.cfa_offset = (int32_t)offset;
}

/* In units of the CIE's data alignment. If the product overflows, the result is wrong, but nothing
 * worse happens. */
static int64_t scaled(const struct cie *c, uint64_t v)
{
	return (int64_t)(v * (uint64_t)c->data_align);
}

/* The instructions that define where the frame begins. False: it is not one of them. */
static bool cfa_rule(uint8_t op, struct in *p, const struct cie *c, struct cfa_state *s)
{
	uint64_t reg, n;
	struct in part;

	switch (op) {
	case 0x0c:
		reg = uleb(p);
		set_cfa(s, reg, (int64_t)uleb(p));
		return true;
	case 0x0d: set_cfa(s, uleb(p), s->row.cfa_offset); return true;
	case 0x0e: s->row.cfa_offset = (int32_t)uleb(p); return true;
	case 0x0f:
		n = uleb(p);
		part = *p;
		skip(p, n);
		part.end = p->p;
		cfa_expression(s, part);
		return true;
	case 0x12:
		reg = uleb(p);
		set_cfa(s, reg, scaled(c, (uint64_t)sleb(p)));
		return true;
	case 0x13: s->row.cfa_offset = (int32_t)(scaled(c, (uint64_t)sleb(p))); return true;
	default: return false;
	}
}

/* The instructions whose low 6 bits are not an operand. */
static bool extended(uint8_t op, struct in *p, const struct cie *c, struct cfa_state *s,
		     const struct cfa_state *first)
{
	uint64_t reg, n;

	switch (op) {
	case 0x00: return true;
	case 0x05:
		reg = uleb(p);
		save(s, reg, scaled(c, uleb(p)));
		return true;
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
	case 0x10:
	case 0x16:
		reg = uleb(p);
		n = uleb(p);
		/* rbp at *(rbp): as after push; written by functions that align */
		if (reg == RBP && n == 2 && p->end - p->p >= 2 && p->p[0] == 0x70 + RBP &&
		    p->p[1] == 0)
			s->row.saves_rbp = true, s->row.rbp_offset = INT32_MIN;
		skip(p, n);
		return true;
	case 0x11:
		reg = uleb(p);
		save(s, reg, scaled(c, (uint64_t)sleb(p)));
		return true;
	case 0x14:
		uleb(p);
		uleb(p);
		return true;
	case 0x15:
		uleb(p);
		sleb(p);
		return true;
	case 0x2e: uleb(p); return true;
	default: return cfa_rule(op, p, c, s);
	}
}

/* Run the instructions up to the row of pc. False: something unknown. */
static bool run(struct in in, const struct cie *c, uintptr_t loc, uintptr_t pc, struct cfa_state *s,
		const struct cfa_state *first)
{
	struct cfa_state kept[MAX_REMEMBERED];
	unsigned n = 0;

	while (in.p < in.end && loc <= pc) {
		uint8_t op = *in.p++;

		switch (op >> 6) {
		case 1: loc += (op & 0x3f) * c->code_align; continue;
		case 2: save(s, op & 0x3f, scaled(c, uleb(&in))); continue;
		case 3: restore(s, op & 0x3f, first); continue;
		default: break;
		}
		switch (op) {
		case 0x01: loc = encoded(&in, c->encoding, 0); break;
		case 0x02: loc += fixed(&in, 1) * c->code_align; break;
		case 0x03: loc += fixed(&in, 2) * c->code_align; break;
		case 0x04: loc += fixed(&in, 4) * c->code_align; break;
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
			if (!extended(op, &in, c, s, first))
				return false;
		}
	}
	return !in.bad;
}

struct mz_row mz_find_row(const struct mz_module *m, uintptr_t pc)
{
	static const struct mz_row end = {.cfa = MZ_CFA_END};
	uintptr_t fde = find_fde(m, pc), start, length;
	struct in in = entry_at(m, fde);
	struct cfa_state s = {0}, first;
	struct cie c;

	/* this word is the distance from itself back to the CIE */
	if (in.bad || !parse_cie(m, fde + 4 - (uint32_t)fixed(&in, 4), &c))
		return end;
	start = encoded(&in, c.encoding, 0);
	length = encoded(&in, c.encoding & 0x0f, 0);
	if (in.bad || pc < start || pc - start >= length)
		return end;
	if (c.signal)
		return (struct mz_row){.cfa = MZ_CFA_SIGNAL};
	if (c.augmented)
		skip(&in, uleb(&in));
	if (!run(c.code, &c, 0, UINTPTR_MAX, &s, &s))
		return end;
	first = s;
	if (!run(in, &c, start, pc, &s, &first) || s.ra_elsewhere)
		return end;
	if (s.ra_undefined)
		return (struct mz_row){.cfa = MZ_CFA_ROOT};
	if (!s.expression)
		s.row.cfa = s.cfa_reg == RSP   ? MZ_CFA_RSP
			    : s.cfa_reg == RBP ? MZ_CFA_RBP
					       : MZ_CFA_END;
	return s.row;
}
