// SPDX-License-Identifier: BSD-2-Clause
/* Build the table of an image from its ELF symbols and its DWARF. */
/*
 * Lines and scopes (functions, and what was inlined into them) are collected unit by unit, sorted,
 * and merged into rows, each of which has everything about the addresses up to the next row.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"
#include "symbols/debug_bounds.h"
#include "symbols/debug_file.h"
#include "symbols/image_build.h"

/* ---- strings ------------------------------------------------------------------------- */

uint32_t mz_build_string(struct build *b, const char *s)
{
	struct mz_image *im = b->im;
	size_t len = strlen(s);
	uint32_t id = mz_tables_string(b->interned, s, len);

	if (!id ||
	    !mz_array_room((void **)&b->interned_at, &b->cap_interned, id, sizeof(*b->interned_at)))
		goto failed;
	if (b->interned_at[id])
		return b->interned_at[id];
	if (im->n_strings + len + 1 >= UINT32_MAX ||
	    !mz_array_room((void **)&im->strings, &b->cap_strings, im->n_strings + len + 1, 1))
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
uint32_t mz_build_file(struct build *b, const char *path)
{
	char *copy, *whole;
	uint32_t id;

	if (!path)
		return 0;
	id = mz_pair_index_put(&b->pointers, (uint64_t)(uintptr_t)path, 0);
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&b->names, &b->cap_names, id, sizeof(*b->names))) {
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
		b->names[id] = mz_build_string(b, copy);
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

	return MZ_ORDER(a->lo, b->lo);
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

bool mz_build_is_code(const struct build *b, uint64_t addr)
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
	bool function = mz_build_is_code(b, addr);
	struct mz_image_symbol s = {addr, sym->st_size, 0, 0};
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !*name || type == STT_SECTION || type == STT_FILE ||
	    type == STT_TLS || (type == STT_NOTYPE && *name == '.'))
		return;
	s.name = mz_build_string(b, name);
	if (function &&
	    mz_array_room((void **)&im->functions, &b->cap_functions, im->n_functions, sizeof(s)))
		im->functions[im->n_functions++] = s;
	else if (!function && mz_array_room((void **)&im->variables, &b->cap_variables,
					    im->n_variables, sizeof(s)))
		im->variables[im->n_variables++] = s;
	else
		b->failed = true;
}

/* Of two at one address, the one with a size comes last, and is therefore found. */
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

/* ---- variables ----------------------------------------------------------------------------------
 */

static int variable_at(const struct mz_image *im, uint64_t addr, size_t *at)
{
	size_t lo = mz_array_below(im->variables, im->n_variables, sizeof(*im->variables),
				   offsetof(struct mz_image_symbol, addr), addr);

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
			b->im->variables[at].file = mz_build_file(b, dwarf_decl_file(&die));
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
		mz_build_lines(b, unit);
		mz_build_scopes(b, unit, MZ_IMAGE_NONE, 0);
		add_variables(b, unit);
	}
	b->im->has_lines = b->n_lines > 0;
}

static void build_free(struct build *b)
{
	free(b->ranges);
	free(b->lines);
	mz_pair_index_deinit(&b->pointers);
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
	if (!b.interned || !mz_array_room((void **)&im->strings, &b.cap_strings, 1, 1)) {
		ret = mz_fail_memory(err);
	} else {
		im->n_strings = 1;
		im->fixed = gelf_getehdr(elf, &ehdr) && ehdr.e_type == ET_EXEC;
		find_code(&b, elf, bias);
		add_symbols(&b, mod);
		read_dwarf(&b, mod);
		if (b.failed || !mz_build_rows(&b))
			ret = mz_fail_memory(err);
		else
			mz_build_cut_root(im);
	}
	build_free(&b);
	return ret;
}

/* ---- the build id alone -------------------------------------------------------------- */

size_t mz_image_read_id(const char *path, uint8_t *id)
{
	int fd = mz_open_regular(path, NULL);
	const void *found;
	size_t len = 0;
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf) {
		ssize_t n = dwelf_elf_gnu_build_id(elf, &found);

		if (n > 0 && n <= 64) {
			memcpy(id, found, (size_t)n);
			len = (size_t)n;
		}
	}
	elf_end(elf);
	close(fd);
	return len;
}

int mz_image_build(struct mz_image *im, const char *path, struct mz_error *err)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = mz_debug_file_find,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	const char *name = path ? path : "build id";
	Dwfl_Module *mod;
	GElf_Addr bias;
	int unopened = 0;
	Elf *elf;
	int ret;

	if (!dwfl)
		return mz_fail_memory(err);
	dwfl_report_begin(dwfl);
	/* addresses stay as the file has them */
	if (path) {
		int fd = mz_open_regular(path, NULL);

		unopened = fd < 0 ? errno : 0;
		/* success takes the descriptor over */
		mod = fd < 0 ? NULL : dwfl_report_elf(dwfl, path, path, fd, 0, false);
		if (!mod && fd >= 0)
			close(fd);
	} else {
		mod = dwfl_report_module(dwfl, "", 0, UINT32_MAX);
		if (mod && dwfl_module_report_build_id(mod, im->id, im->id_len, 0))
			mod = NULL;
	}
	dwfl_report_end(dwfl, NULL, NULL);
	elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;
	if (unopened)
		ret = mz_fail(err, unopened, "%s: %s", name,
			      unopened == EINVAL ? "not a regular file, so not an ELF file"
						 : strerror(unopened));
	else if (!elf)
		ret = mz_fail(err, EINVAL, "%s: not an ELF file with code: %s", name,
			      dwfl_errmsg(-1));
	else if (mz_debug_unpacks_large(elf))
		ret = mz_fail(err, EFBIG, "%s: its compressed sections unpack to too many bytes",
			      name);
	else
		ret = build_module(im, mod, err);
	dwfl_end(dwfl);
	return ret;
}
