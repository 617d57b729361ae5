// SPDX-License-Identifier: BSD-2-Clause
/* Count what the instructions of an image do, function by function. */
/*
 * The published measures count lines of its disassembly, and so does this: reads and writes by the
 * sanitizer's calls before them, frees by calls of three functions, calls and returns by
 * themselves. A function reaches from its symbol to the next one. In a module, which is not linked,
 * relocations say what is called.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"
#include "symbols/code.h"
#include "symbols/insn.h"

/* Code that is copied over other code as the kernel boots is no function. */
#define NOT_CODE     ".altinstr"
/* Between the sections of a module; at least one byte, so that the end of one is in no other. */
#define MODULE_ALIGN 4096

struct label {
	uint64_t addr;
	uint64_t size;
	const char *name; /* in the ELF file */
	bool function, global;
};

/* A section of code. */
struct code_section {
	uint64_t addr, size;
	const uint8_t *bytes;
	size_t index; /* in the ELF file */
};

/* What the linker will put into four bytes of code: the address of a name, or of a place in a
 * section of code, and an addend. */
struct ref {
	uint64_t at; /* address of the four bytes */
	uint64_t to; /* of the name, if it is code of this file; else 0 */
	const char *name;
	int64_t addend;
	bool here; /* to is known */
};

struct reader {
	const char *path;
	Elf *elf;
	bool relocatable;
	struct mz_error *err;
	struct code_section *sections;
	size_t n_sections, cap_sections;
	struct label *labels; /* by address, one for each */
	size_t n_labels, cap_labels;
	struct ref *refs; /* of a module, by at */
	size_t n_refs, cap_refs;
	struct mz_code *c;
	bool instrumented; /* some instruction is a sanitizer's call */
};

/* ---- labels ------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* of several names, the one that a disassembler shows */
	if (x->function != y->function)
		return x->function ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	return strcmp(x->name, y->name);
}

static const struct code_section *section_numbered(const struct reader *r, size_t index)
{
	for (size_t i = 0; i < r->n_sections; i++)
		if (r->sections[i].index == index)
			return &r->sections[i];
	return NULL;
}

/* The address of a symbol, which a module has relative to its section; false: it is no code. */
static bool address_of(const struct reader *r, const GElf_Sym *sym, uint64_t *addr)
{
	const struct code_section *s;

	*addr = sym->st_value;
	if (!r->relocatable)
		return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS;
	s = section_numbered(r, sym->st_shndx);
	if (!s || sym->st_value > s->size)
		return false;
	*addr += s->addr;
	return true;
}

static int add_label(struct reader *r, const GElf_Sym *sym, uint64_t addr, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (!*name || (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
		return 0;
	if (!mz_array_room((void **)&r->labels, &r->cap_labels, r->n_labels, sizeof(*r->labels)))
		return -ENOMEM;
	r->labels[r->n_labels++] =
		(struct label){.addr = addr,
			       .size = sym->st_size,
			       .name = name,
			       .function = type != STT_NOTYPE,
			       .global = GELF_ST_BIND(sym->st_info) != STB_LOCAL};
	return 0;
}

static bool in_code(const struct reader *r, uint64_t addr)
{
	for (size_t i = 0; i < r->n_sections; i++)
		if (addr - r->sections[i].addr < r->sections[i].size)
			return true;
	return false;
}

static int read_symbols(struct reader *r)
{
	Elf_Scn *scn = NULL;
	size_t n = 0;

	while ((scn = elf_nextscn(r->elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB || !sh.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(r->elf, sh.sh_link, sym.st_name);
			uint64_t addr;

			if (name && address_of(r, &sym, &addr) && in_code(r, addr) &&
			    add_label(r, &sym, addr, name) < 0)
				return mz_fail_memory(r->err);
		}
	}
	if (!r->n_labels)
		return mz_fail(r->err, ENODATA, "%s: it has no symbols of functions", r->path);
	qsort(r->labels, r->n_labels, sizeof(*r->labels), by_address);
	for (size_t i = 0; i < r->n_labels; i++)
		if (!n || r->labels[i].addr != r->labels[n - 1].addr)
			r->labels[n++] = r->labels[i];
	r->n_labels = n;
	return 0;
}

/* ---- sections --------------------------------------------------------------------------- */

/* Sections of a module all start at 0; here they follow each other. */
static void lay_out(struct reader *r)
{
	uint64_t at = 0;

	for (size_t i = 0; i < r->n_sections; i++) {
		r->sections[i].addr = at;
		at += (r->sections[i].size + MODULE_ALIGN) & ~(uint64_t)(MODULE_ALIGN - 1);
	}
}

static int read_sections(struct reader *r)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(r->elf, &names))
		return mz_fail(r->err, EINVAL, "%s: it has no sections", r->path);
	while ((scn = elf_nextscn(r->elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    sh.sh_type != SHT_PROGBITS)
			continue;
		name = elf_strptr(r->elf, names, sh.sh_name);
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf || (name && strstr(name, NOT_CODE)))
			continue;
		if (!mz_array_room((void **)&r->sections, &r->cap_sections, r->n_sections,
				   sizeof(*r->sections)))
			return mz_fail_memory(r->err);
		r->sections[r->n_sections++] = (struct code_section){sh.sh_addr, data->d_size,
								     data->d_buf, elf_ndxscn(scn)};
	}
	if (r->relocatable)
		lay_out(r);
	return r->n_sections ? 0 : mz_fail(r->err, ENODATA, "%s: it has no code", r->path);
}

/* ---- relocations of a module ------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	return MZ_ORDER(x->at, y->at);
}

static int add_ref(struct reader *r, const struct code_section *s, const GElf_Rela *rela,
		   Elf_Data *symbols, size_t strings)
{
	struct ref ref = {.at = s->addr + rela->r_offset, .addend = rela->r_addend};
	GElf_Sym sym;

	if (rela->r_offset >= s->size || !gelf_getsym(symbols, GELF_R_SYM(rela->r_info), &sym))
		return 0;
	ref.name = elf_strptr(r->elf, strings, sym.st_name);
	ref.here = address_of(r, &sym, &ref.to);
	if (!mz_array_room((void **)&r->refs, &r->cap_refs, r->n_refs, sizeof(*r->refs)))
		return -ENOMEM;
	r->refs[r->n_refs++] = ref;
	return 0;
}

/* The relocations of one section of code. */
static int add_refs(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh,
		    const struct code_section *s)
{
	Elf_Scn *table = elf_getscn(r->elf, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL), *symbols = table ? elf_getdata(table, NULL) : NULL;
	GElf_Shdr symtab;
	GElf_Rela rela;

	if (!data || !symbols || !gelf_getshdr(table, &symtab))
		return 0;
	for (int i = 0; gelf_getrela(data, i, &rela); i++)
		if (add_ref(r, s, &rela, symbols, symtab.sh_link) < 0)
			return mz_fail_memory(r->err);
	return 0;
}

static int read_refs(struct reader *r)
{
	Elf_Scn *scn = NULL;
	int ret = 0;

	while (!ret && (scn = elf_nextscn(r->elf, scn))) {
		const struct code_section *s;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA)
			continue;
		s = section_numbered(r, sh.sh_info);
		if (s)
			ret = add_refs(r, scn, &sh, s);
	}
	if (r->n_refs)
		qsort(r->refs, r->n_refs, sizeof(*r->refs), by_place);
	return ret;
}

static const struct ref *ref_at(const struct reader *r, uint64_t addr)
{
	size_t i = mz_array_not_above(r->refs, r->n_refs, sizeof(*r->refs),
				      offsetof(struct ref, at), addr);

	return i && r->refs[i - 1].at == addr ? &r->refs[i - 1] : NULL;
}

/* ---- instructions ------------------------------------------------------------------------- */

/* The symbol that an operand is shown with; exact: its start. */
static const char *symbol_at(const struct reader *r, uint64_t addr, bool *exact)
{
	size_t i = mz_array_not_above(r->labels, r->n_labels, sizeof(*r->labels),
				      offsetof(struct label, addr), addr);

	if (!i || !in_code(r, addr))
		return "";
	*exact = r->labels[i - 1].addr == addr;
	return r->labels[i - 1].name;
}

/* The same of the operand of an instruction at an address. */
static const char *target_of(const struct reader *r, const struct mz_insn *in, uint64_t addr,
			     bool *exact)
{
	const struct ref *ref;
	uint64_t to;

	if (!in->has_target)
		return "";
	ref = in->operand ? ref_at(r, addr + in->operand) : NULL;
	if (!ref)
		return symbol_at(r, in->target, exact);
	/* the addend is relative to the four bytes, the target to the next instruction */
	to = (uint64_t)ref->addend + in->len - in->operand;
	if (ref->here)
		return symbol_at(r, ref->to + to, exact);
	*exact = to == 0;
	return ref->name ? ref->name : "";
}

static bool has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

/* The two sanitizers that report accesses to a recorder. */
static void count_access(struct reader *r, struct mz_code_function *f, const char *to)
{
	bool tsan = has(to, "__tsan_");
	bool reads =
		has(to, "__asan_load") || has(to, "kasan_check_read") || (tsan && has(to, "read"));
	bool writes = has(to, "__asan_store") || has(to, "kasan_check_write") ||
		      (tsan && has(to, "write"));

	f->ops[MZ_CODE_OP_READ] += reads;
	f->ops[MZ_CODE_OP_WRITE] += writes;
	r->instrumented |= reads || writes;
}

static bool is_free(const char *name)
{
	return !strcmp(name, "kfree") || !strcmp(name, "kmem_cache_free") ||
	       !strcmp(name, "kvfree");
}

static void count(struct reader *r, struct mz_code_function *f, const struct mz_insn *in,
		  uint64_t addr)
{
	bool exact = false;
	const char *to = target_of(r, in, addr, &exact);

	if (has(to, "cyg_profile"))
		return; /* the profiler's: not even its bytes count */
	f->size += in->len;
	count_access(r, f, to);
	f->ops[MZ_CODE_OP_CALL] += in->kind == MZ_INSN_CALL;
	f->ops[MZ_CODE_OP_RETURN] += in->kind == MZ_INSN_RETURN;
	f->ops[MZ_CODE_OP_FREE] += in->kind == MZ_INSN_CALL && exact && is_free(to);
}

/* Zeros between functions are no instructions: a disassembler leaves out runs of at least 8,
 * and 3 at the end, down to a multiple of four if something follows. */
static uint64_t zeros(const struct code_section *s, uint64_t at, uint64_t end)
{
	uint64_t n = 0;

	while (at + n < end && !s->bytes[at + n])
		n++;
	if (at + n == end)
		return n >= 8 || n < 3 ? n : 0;
	return n >= 8 ? n & ~3ull : 0;
}

static void count_function(struct reader *r, const struct code_section *s, uint64_t at,
			   uint64_t end, struct mz_code_function *f)
{
	while (at < end) {
		uint64_t skip = s->bytes[at] ? 0 : zeros(s, at, end);
		struct mz_insn in;

		if (skip) {
			at += skip;
			continue;
		}
		if (!mz_insn_decode(s->bytes + at, end - at, s->addr + at, &in))
			in = (struct mz_insn){.len = 1};
		count(r, f, &in, s->addr + at);
		at += in.len;
	}
}

static const struct code_section *section_of(const struct reader *r, uint64_t addr)
{
	for (size_t i = 0; i < r->n_sections; i++)
		if (addr - r->sections[i].addr < r->sections[i].size)
			return &r->sections[i];
	return NULL;
}

static int count_all(struct reader *r)
{
	for (size_t i = 0; i < r->n_labels; i++) {
		const struct label *l = &r->labels[i];
		const struct code_section *s = section_of(r, l->addr);
		uint64_t end = s->addr + s->size;
		struct mz_code_function *f;

		if (i + 1 < r->n_labels && r->labels[i + 1].addr < end)
			end = r->labels[i + 1].addr;
		if (!mz_array_room((void **)&r->c->functions, &r->c->cap, r->c->n,
				   sizeof(*r->c->functions)))
			return mz_fail_memory(r->err);
		f = &r->c->functions[r->c->n++];
		*f = (struct mz_code_function){.name = l->name, .start = l->addr};
		count_function(r, s, l->addr - s->addr, end - s->addr, f);
	}
	return 0;
}

static int keep_sections(struct reader *r)
{
	struct mz_code *c = r->c;

	c->sections = calloc(r->n_sections, sizeof(*c->sections));
	if (!c->sections)
		return mz_fail_memory(r->err);
	for (; c->n_sections < r->n_sections; c->n_sections++)
		c->sections[c->n_sections] = (struct mz_code_section){
			r->sections[c->n_sections].addr, r->sections[c->n_sections].size,
			r->sections[c->n_sections].index, MZ_CODE_NOWHERE};
	return 0;
}

/* The caller owns the names from now on; a kernel without the sanitizer says nothing about
 * accesses. */
static int keep(struct reader *r)
{
	size_t room = 0, at = 0;

	for (size_t i = 0; i < r->c->n; i++)
		room += strlen(r->c->functions[i].name) + 1;
	r->c->names = malloc(room ? room : 1);
	if (!r->c->names)
		return mz_fail_memory(r->err);
	for (size_t i = 0; i < r->c->n; i++) {
		struct mz_code_function *f = &r->c->functions[i];
		size_t n = strlen(f->name) + 1;

		f->name = memcpy(r->c->names + at, f->name, n);
		at += n;
		if (!r->instrumented)
			f->missing = 1u << MZ_CODE_OP_READ | 1u << MZ_CODE_OP_WRITE;
	}
	return 0;
}

static int check(struct reader *r)
{
	GElf_Ehdr eh;

	if (!r->elf || elf_kind(r->elf) != ELF_K_ELF || !gelf_getehdr(r->elf, &eh))
		return mz_fail(r->err, EINVAL, "%s: not an ELF file", r->path);
	if (eh.e_machine != EM_X86_64)
		return mz_fail(r->err, ENOTSUP, "%s: only x86-64 code can be counted", r->path);
	r->relocatable = r->c->relocatable = eh.e_type == ET_REL;
	return 0;
}

int mz_code_read_elf(struct mz_code *c, const char *path, struct mz_error *err)
{
	struct reader r = {.path = path, .err = err, .c = c};
	int fd = mz_open_regular(path, NULL), ret;

	if (fd < 0)
		return mz_fail(err, errno, "%s: cannot open: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	r.elf = elf_begin(fd, ELF_C_READ, NULL);
	ret = check(&r);
	if (!ret)
		ret = read_sections(&r);
	if (!ret)
		ret = read_symbols(&r);
	if (!ret && r.relocatable)
		ret = read_refs(&r);
	if (!ret)
		ret = count_all(&r);
	if (!ret)
		ret = keep_sections(&r);
	if (!ret)
		ret = keep(&r);
	if (ret < 0)
		c->n = 0; /* their names are gone with the file */
	elf_end(r.elf);
	close(fd);
	free(r.sections);
	free(r.labels);
	free(r.refs);
	return ret;
}
