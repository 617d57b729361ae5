// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of an image, made of its ELF symbols and its DWARF. Lines and scopes
 * (functions, and what was inlined into them) are gathered unit by unit, sorted, and
 * merged into rows that each say everything about the addresses up to the next.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "symbols/image.h"

struct range {
	uint32_t lo, hi; /* from base */
	uint32_t scope;
	uint32_t depth;
};

struct line {
	uint32_t at;
	uint32_t order;	     /* of two at one address, the later counts */
	uint32_t file, line; /* line 0 and file 0: the end of a sequence */
};

struct section {
	uint64_t lo, hi;
};

struct build {
	struct mz_image *im;
	struct range *ranges;
	struct line *lines;
	size_t n_ranges, cap_ranges, n_lines, cap_lines;
	size_t cap_scopes, cap_functions, cap_variables, cap_strings;
	struct section code[64];
	size_t n_code;
	struct mz_keys pointers; /* names of files that libdw gave before */
	uint32_t *names;	 /* by number of those: strings */
	size_t cap_names;
	struct mz_tables *interned;
	uint32_t *interned_at; /* by number: offset in strings */
	size_t cap_interned;
	Dwarf_Addr bias; /* of the DWARF: added to its addresses */
	Dwarf_Files *files;
	const char *folder; /* that the unit was compiled in; NULL = not known */
	bool failed;	    /* no memory */
};

/* ---- strings ------------------------------------------------------------------------- */

static uint32_t add_string(struct build *b, const char *s)
{
	struct mz_image *im = b->im;
	size_t len = strlen(s);
	uint32_t id = mz_tables_string(b->interned, s, len);

	if (!id ||
	    !mz_keys_room((void **)&b->interned_at, &b->cap_interned, id, sizeof(*b->interned_at)))
		goto failed;
	if (b->interned_at[id])
		return b->interned_at[id];
	if (im->n_strings + len + 1 >= UINT32_MAX ||
	    !mz_keys_room((void **)&im->strings, &b->cap_strings, im->n_strings + len + 1, 1))
		goto failed;
	memcpy(im->strings + im->n_strings, s, len + 1);
	b->interned_at[id] = (uint32_t)im->n_strings;
	im->n_strings += len + 1;
	return b->interned_at[id];
failed:
	b->failed = true;
	return 0;
}

/* "/a/./b/../c" -> "/a/c", into out, which has room for path and two bytes more.
 * A ".." that leads out of a relative path stays. */
static void tidy(const char *path, char *out)
{
	char *start = out, *floor;

	if (*path == '/')
		*out++ = '/';
	floor = out; /* nothing below this is taken back */
	while (*path) {
		size_t n = strcspn(path, "/");
		bool up = n == 2 && path[0] == '.' && path[1] == '.';

		if (up && out > floor) {
			for (out--; out > floor && out[-1] != '/';)
				out--;
		} else if (n && !(n == 1 && *path == '.')) {
			memcpy(out, path, n);
			out += n;
			*out++ = '/';
			if (up)
				floor = out;
		}
		path += n + (path[n] == '/');
	}
	if (out > start + 1)
		out--; /* the last slash */
	*out = '\0';
}

/* libdw gives the same pointer for the same file of a unit. */
static uint32_t file_name(struct build *b, const char *path)
{
	char *copy, *whole;
	uint32_t id;

	if (!path)
		return 0;
	id = mz_keys_put(&b->pointers, (uint64_t)(uintptr_t)path, 0);
	if (id == MZ_KEYS_NONE ||
	    !mz_keys_room((void **)&b->names, &b->cap_names, id, sizeof(*b->names))) {
		b->failed = true;
		return 0;
	}
	if (b->names[id])
		return b->names[id];
	if (*path == '/' || !b->folder)
		whole = strdup(path);
	else if (asprintf(&whole, "%s/%s", b->folder, path) < 0)
		whole = NULL;
	copy = whole ? malloc(strlen(whole) + 3) : NULL;
	if (copy) {
		tidy(whole, copy);
		b->names[id] = add_string(b, copy);
	}
	b->failed |= !copy;
	free(whole);
	free(copy);
	return b->names[id];
}

/* ---- addresses -------------------------------------------------------------------------- */

static int by_lo(const void *x, const void *y)
{
	const struct section *a = x, *b = y;

	return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* What is executable: DWARF also speaks of code that the linker left out. */
static void find_code(struct build *b, Elf *elf, GElf_Addr bias)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr mem, *sh;

	while ((scn = elf_nextscn(elf, scn)) && b->n_code < sizeof(b->code) / sizeof(*b->code)) {
		sh = gelf_getshdr(scn, &mem);
		if (!sh || !(sh->sh_flags & SHF_EXECINSTR) || !(sh->sh_flags & SHF_ALLOC) ||
		    !sh->sh_size)
			continue;
		b->code[b->n_code++] =
			(struct section){sh->sh_addr + bias, sh->sh_addr + bias + sh->sh_size};
	}
	qsort(b->code, b->n_code, sizeof(*b->code), by_lo);
	b->im->base = b->n_code ? b->code[0].lo : 0;
}

static bool is_code(const struct build *b, uint64_t addr)
{
	for (size_t i = 0; i < b->n_code && b->code[i].lo <= addr; i++)
		if (addr < b->code[i].hi)
			return addr - b->im->base < UINT32_MAX;
	return false;
}

/* ---- symbols ------------------------------------------------------------------------------- */

static void add_symbol(struct build *b, const GElf_Sym *sym, GElf_Addr addr, const char *name)
{
	struct mz_image *im = b->im;
	bool function = is_code(b, addr);
	struct mz_image_symbol s = {addr, sym->st_size, 0, 0};
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !*name || type == STT_SECTION || type == STT_FILE ||
	    type == STT_TLS || (type == STT_NOTYPE && *name == '.'))
		return;
	s.name = add_string(b, name);
	if (function &&
	    mz_keys_room((void **)&im->functions, &b->cap_functions, im->n_functions, sizeof(s)))
		im->functions[im->n_functions++] = s;
	else if (!function && mz_keys_room((void **)&im->variables, &b->cap_variables,
					   im->n_variables, sizeof(s)))
		im->variables[im->n_variables++] = s;
	else
		b->failed = true;
}

/* Of two at one address, one with a size comes last, and so is the one found. */
static int by_addr(const void *x, const void *y)
{
	const struct mz_image_symbol *a = x, *b = y;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	return a->name > b->name ? -1 : a->name < b->name;
}

static void add_symbols(struct build *b, Dwfl_Module *mod)
{
	int n = dwfl_module_getsymtab(mod);

	for (int i = 1; i < n && !b->failed; i++) {
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name = dwfl_module_getsym_info(mod, i, &sym, &addr, NULL, NULL, NULL);

		if (name)
			add_symbol(b, &sym, addr, name);
	}
	if (b->im->functions)
		qsort(b->im->functions, b->im->n_functions, sizeof(*b->im->functions), by_addr);
	if (b->im->variables)
		qsort(b->im->variables, b->im->n_variables, sizeof(*b->im->variables), by_addr);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void add_lines(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (size_t i = 0; i < n && !b->failed; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		int number = 0;
		bool end = false;

		if (dwarf_lineaddr(l, &addr) || dwarf_lineendsequence(l, &end))
			continue;
		addr += b->bias;
		/* the end of a sequence may be the end of the code */
		if (!is_code(b, addr) && !(end && is_code(b, addr - 1)))
			continue;
		if (!mz_keys_room((void **)&b->lines, &b->cap_lines, b->n_lines,
				  sizeof(*b->lines))) {
			b->failed = true;
			return;
		}
		dwarf_lineno(l, &number);
		b->lines[b->n_lines] = (struct line){(uint32_t)(addr - b->im->base),
						     (uint32_t)b->n_lines + 1, 0, 0};
		if (!end) {
			b->lines[b->n_lines].file = file_name(b, dwarf_linesrc(l, NULL, NULL));
			b->lines[b->n_lines].line = number > 0 ? (uint32_t)number : 0;
		}
		b->n_lines++;
	}
}

/* Where one sequence ends and the next begins, the beginning counts. */
static int by_at(const void *x, const void *y)
{
	const struct line *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (!a->file != !b->file)
		return a->file ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* ---- scopes ------------------------------------------------------------------------------------
 */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attr))
		name = dwarf_formstring(&attr);
	return name;
}

static uint32_t number_of(Dwarf_Die *die, unsigned what)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, what, &attr) || dwarf_formudata(&attr, &v) || v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static uint32_t add_scope(struct build *b, Dwarf_Die *die, uint32_t parent)
{
	struct mz_image *im = b->im;
	const char *name = name_of(die), *file;
	struct mz_image_scope *s;

	if (im->n_scopes >= MZ_IMAGE_NONE - 1 ||
	    !mz_keys_room((void **)&im->scopes, &b->cap_scopes, im->n_scopes, sizeof(*s))) {
		b->failed = true;
		return MZ_IMAGE_NONE;
	}
	s = &im->scopes[im->n_scopes];
	*s = (struct mz_image_scope){.parent = parent, .start = UINT32_MAX};
	s->name = name ? add_string(b, name) : 0;
	if (parent == MZ_IMAGE_NONE) {
		s->home = file_name(b, dwarf_decl_file(die));
	} else {
		uint32_t at = number_of(die, DW_AT_call_file);

		file = b->files ? dwarf_filesrc(b->files, at, NULL, NULL) : NULL;
		s->call_file = file_name(b, file);
		s->call_line = number_of(die, DW_AT_call_line);
	}
	return (uint32_t)im->n_scopes++;
}

/* The ranges of a scope; false: it has no code. */
static bool add_ranges(struct build *b, Dwarf_Die *die, uint32_t scope, uint32_t depth)
{
	struct mz_image_scope *s = &b->im->scopes[scope];
	Dwarf_Addr base, lo, hi;
	ptrdiff_t next = 0;
	bool any = false;

	while ((next = dwarf_ranges(die, next, &base, &lo, &hi)) > 0) {
		lo += b->bias;
		hi += b->bias;
		if (lo >= hi || !is_code(b, lo) || hi - b->im->base >= UINT32_MAX)
			continue;
		if (!mz_keys_room((void **)&b->ranges, &b->cap_ranges, b->n_ranges,
				  sizeof(*b->ranges))) {
			b->failed = true;
			return false;
		}
		lo -= b->im->base;
		hi -= b->im->base;
		b->ranges[b->n_ranges++] = (struct range){(uint32_t)lo, (uint32_t)hi, scope, depth};
		/* the first range is where a function starts; cold parts come behind */
		if (!any)
			s->start = (uint32_t)lo;
		any = true;
	}
	return any;
}

#define DEEPEST 256 /* scopes within scopes; compilers stop far before */

static void walk(struct build *b, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	Dwarf_Die child;

	if (depth >= DEEPEST || b->failed || dwarf_child(die, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		size_t before = b->im->n_scopes;
		uint32_t scope;

		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (!dwarf_hasattr(&child, DW_AT_low_pc) &&
			    !dwarf_hasattr(&child, DW_AT_ranges))
				break; /* a declaration */
			scope = add_scope(b, &child,
					  tag == DW_TAG_subprogram ? MZ_IMAGE_NONE : parent);
			if (scope == MZ_IMAGE_NONE)
				return;
			if (add_ranges(b, &child, scope, depth))
				walk(b, &child, scope, depth + 1);
			else
				b->im->n_scopes = before; /* the linker left it out */
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace: walk(b, &child, parent, depth + 1); break;
		default: break;
		}
	} while (!dwarf_siblingof(&child, &child) && !b->failed);
}

/* Outer ranges before inner ones. */
static int by_range(const void *x, const void *y)
{
	const struct range *a = x, *b = y;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* Where the innermost scope changes: a line with the scope in `line`. */
struct steps {
	struct line *list;
	size_t n, cap;
};

static bool step(struct steps *s, uint32_t at, uint32_t scope)
{
	if (s->n && s->list[s->n - 1].at == at) {
		s->list[s->n - 1].line = scope;
		return true;
	}
	if (!mz_keys_room((void **)&s->list, &s->cap, s->n, sizeof(*s->list)))
		return false;
	s->list[s->n++] = (struct line){.at = at, .line = scope};
	return true;
}

static bool find_steps(const struct build *b, struct steps *s)
{
	struct range open[DEEPEST];
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; i <= b->n_ranges && ok; i++) {
		const struct range *r = i < b->n_ranges ? &b->ranges[i] : NULL;

		while (n && (!r || open[n - 1].hi <= r->lo) && ok) {
			n--;
			ok = step(s, open[n].hi, n ? open[n - 1].scope : MZ_IMAGE_NONE);
		}
		if (!r || n == DEEPEST)
			continue;
		ok = ok && step(s, r->lo, r->scope);
		open[n] = *r;
		/* what is not nested as it should be ends with what it is in */
		if (n && open[n].hi > open[n - 1].hi)
			open[n].hi = open[n - 1].hi;
		n++;
	}
	return ok;
}

static bool put_row(struct build *b, size_t *cap, struct mz_image_row row)
{
	struct mz_image *im = b->im;

	if (im->n_rows && im->rows[im->n_rows - 1].at == row.at)
		im->n_rows--;
	if (im->n_rows && im->rows[im->n_rows - 1].scope == row.scope &&
	    im->rows[im->n_rows - 1].file == row.file && im->rows[im->n_rows - 1].line == row.line)
		return true;
	if (!mz_keys_room((void **)&im->rows, cap, im->n_rows, sizeof(row)))
		return false;
	im->rows[im->n_rows++] = row;
	return true;
}

static bool merge(struct build *b)
{
	struct steps s = {0};
	struct mz_image_row row = {.scope = MZ_IMAGE_NONE};
	size_t i = 0, k = 0, cap = 0;
	bool ok;

	if (b->lines)
		qsort(b->lines, b->n_lines, sizeof(*b->lines), by_at);
	if (b->ranges)
		qsort(b->ranges, b->n_ranges, sizeof(*b->ranges), by_range);
	ok = find_steps(b, &s);
	while (ok && (i < b->n_lines || k < s.n)) {
		if (k == s.n || (i < b->n_lines && b->lines[i].at <= s.list[k].at)) {
			row.at = b->lines[i].at;
			row.file = b->lines[i].file;
			row.line = b->lines[i++].line;
		} else {
			row.at = s.list[k].at;
			row.scope = s.list[k++].line;
		}
		ok = put_row(b, &cap, row);
	}
	free(s.list);
	return ok;
}

/* ---- the kernel's files ------------------------------------------------------------------------
 */

/* "/build/linux-6.12/mm/slub.c" -> "mm/slub.c": the folder that init/main.c is below
 * tells where the tree begins. A program's paths stay as they are. */
static const char main_c[] = "/init/main.c";

static size_t tree_root(const struct mz_image *im, char *root, size_t size)
{
	uint64_t start = mz_image_symbol(im, "start_kernel");
	struct mz_image_place p;
	size_t n, tail = sizeof(main_c) - 1;

	if (!start || !mz_image_find(im, start, &p) || !p.home)
		return 0;
	n = strlen(p.home);
	if (n < tail || n >= size || strcmp(p.home + n - tail, main_c))
		return 0;
	memcpy(root, p.home, n - tail + 1);
	return n - tail + 1; /* with its slash */
}

/* Names stay where they are; those that use them point behind the root. */
static void cut_root(struct mz_image *im)
{
	char root[4096];
	size_t n = tree_root(im, root, sizeof(root));
	const char *end = im->strings + im->n_strings;

	if (!n)
		return;
#define CUT(at)                                                                                    \
	do {                                                                                       \
		const char *s_ = im->strings + (at);                                               \
		if ((size_t)(end - s_) > n && !memcmp(s_, root, n))                                \
			(at) += (uint32_t)n;                                                       \
	} while (0)
	for (size_t i = 0; i < im->n_rows; i++)
		CUT(im->rows[i].file);
	for (size_t i = 0; i < im->n_scopes; i++) {
		CUT(im->scopes[i].call_file);
		CUT(im->scopes[i].home);
	}
	for (size_t i = 0; i < im->n_variables; i++)
		CUT(im->variables[i].file);
#undef CUT
}

/* ---- variables ----------------------------------------------------------------------------------
 */

static int variable_at(const struct mz_image *im, uint64_t addr, size_t *at)
{
	size_t lo = 0, hi = im->n_variables;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (im->variables[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*at = lo;
	return lo < im->n_variables && im->variables[lo].addr == addr;
}

/* The file of a variable, which ELF does not say. */
static void add_variables(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Die die;

	if (dwarf_child(unit, &die))
		return;
	do {
		Dwarf_Attribute attr;
		Dwarf_Op *op;
		size_t n, at;

		if (dwarf_tag(&die) != DW_TAG_variable ||
		    !dwarf_attr(&die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &op, &n) ||
		    n != 1 || op->atom != DW_OP_addr)
			continue;
		for (variable_at(b->im, op->number + b->bias, &at);
		     at < b->im->n_variables && b->im->variables[at].addr == op->number + b->bias;
		     at++)
			b->im->variables[at].file = file_name(b, dwarf_decl_file(&die));
	} while (!dwarf_siblingof(&die, &die) && !b->failed);
}

/* ---- all of it
 * ----------------------------------------------------------------------------------- */

static void read_dwarf(struct build *b, Dwfl_Module *mod)
{
	Dwarf_Attribute attr;
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL;

	if (!dwfl_module_getdwarf(mod, &bias))
		return;
	while ((unit = dwfl_module_nextcu(mod, unit, &bias)) && !b->failed) {
		size_t n;

		b->bias = bias;
		b->folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
		b->files = NULL;
		dwarf_getsrcfiles(unit, &b->files, &n);
		add_lines(b, unit);
		walk(b, unit, MZ_IMAGE_NONE, 0);
		add_variables(b, unit);
	}
	b->im->has_lines = b->n_lines > 0;
}

static void build_free(struct build *b)
{
	free(b->ranges);
	free(b->lines);
	mz_keys_deinit(&b->pointers);
	free(b->names);
	mz_tables_free(b->interned);
	free(b->interned_at);
}

static int build_module(struct mz_image *im, Dwfl_Module *mod, struct mz_error *err)
{
	struct build b = {.im = im, .interned = mz_tables_new()};
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	GElf_Ehdr ehdr;
	int ret = 0;

	/* 0 is the empty string */
	if (!b.interned || !mz_keys_room((void **)&im->strings, &b.cap_strings, 1, 1)) {
		ret = mz_fail_memory(err);
	} else {
		im->n_strings = 1;
		im->fixed = gelf_getehdr(elf, &ehdr) && ehdr.e_type == ET_EXEC;
		find_code(&b, elf, bias);
		add_symbols(&b, mod);
		read_dwarf(&b, mod);
		if (b.failed || !merge(&b))
			ret = mz_fail_memory(err);
		else
			cut_root(im);
	}
	build_free(&b);
	return ret;
}

int mz_image_build(struct mz_image *im, const char *path, struct mz_error *err)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *mod;
	GElf_Addr bias;
	int ret;

	if (!dwfl)
		return mz_fail_memory(err);
	dwfl_report_begin(dwfl);
	/* addresses stay as the file has them */
	if (path) {
		mod = dwfl_report_elf(dwfl, path, path, -1, 0, false);
	} else {
		mod = dwfl_report_module(dwfl, "", 0, UINT32_MAX);
		if (mod && dwfl_module_report_build_id(mod, im->id, im->id_len, 0))
			mod = NULL;
	}
	dwfl_report_end(dwfl, NULL, NULL);
	if (!mod || !dwfl_module_getelf(mod, &bias))
		ret = mz_fail(err, EINVAL, "%s: no ELF file with code: %s",
			      path ? path : "build id", dwfl_errmsg(-1));
	else
		ret = build_module(im, mod, err);
	dwfl_end(dwfl);
	return ret;
}
