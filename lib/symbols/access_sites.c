// SPDX-License-Identifier: BSD-2-Clause
/* Read the table of access sites that the GCC plugin leaves in a kernel and in its modules. */
#include "symbols/access_sites.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"

/* A row as the plugin writes it; little-endian, without padding. */
struct site_row {
	uint64_t ip;
	uint32_t file, function, type, members; /* in the section of strings */
	uint32_t line, offset, type_size;
	uint16_t size;
	uint8_t kind, is;
};

_Static_assert(sizeof(struct site_row) == 40, "it has no padding");

struct mz_access_sites {
	const uint8_t *map;
	size_t length;
	struct site_row *rows; /* sorted by address */
	size_t n;
	const char *strings; /* in the map; the last byte is 0 */
	size_t strings_size;
};

struct site_part {
	uint64_t at, size;
	size_t index; /* of the section */
};

static bool is_within(const struct mz_access_sites *s, const Elf64_Shdr *h)
{
	return h->sh_offset <= s->length && h->sh_size <= s->length - h->sh_offset;
}

/* The headers of all sections, which are inside the file; NULL: it is not such a file. libelf is
 * not used here, because the table must be readable without it (debuginfo.h). */
static const Elf64_Shdr *headers(const struct mz_access_sites *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->map;

	if (s->length < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB ||
	    e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shoff % 8 || e->e_shoff > s->length ||
	    (s->length - e->e_shoff) / sizeof(Elf64_Shdr) < e->e_shnum ||
	    e->e_shstrndx >= e->e_shnum)
		return NULL;
	return (const Elf64_Shdr *)(s->map + e->e_shoff);
}

/* A section of the file by its name. */
static bool find_section(const struct mz_access_sites *s, const char *name, struct site_part *out)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->map;
	const Elf64_Shdr *h = headers(s), *names = h ? &h[e->e_shstrndx] : NULL;

	if (!names || !is_within(s, names))
		return false;
	for (size_t i = 0; i < e->e_shnum; i++) {
		if (h[i].sh_name >= names->sh_size || h[i].sh_type != SHT_PROGBITS ||
		    names->sh_size - h[i].sh_name <= strlen(name) ||
		    strcmp((const char *)s->map + names->sh_offset + h[i].sh_name, name) != 0)
			continue;
		*out = (struct site_part){h[i].sh_offset, h[i].sh_size, i};
		return is_within(s, &h[i]);
	}
	return false;
}

static int by_ip(const void *a, const void *b)
{
	uint64_t x = ((const struct site_row *)a)->ip, y = ((const struct site_row *)b)->ip;

	return MZ_ORDER(x, y);
}

/* ---- relocations of a module -------------------------------------------------------------- */

/*
 * One number of a row: the address of the site, or the offset of one of its texts. false: it is
 * neither, or its symbol is in the wrong section.
 */
static bool relocate(struct site_row *rows, size_t n, const Elf64_Rela *r, const Elf64_Sym *sym,
		     size_t strings)
{
	size_t at = r->r_offset % sizeof(*rows), i = r->r_offset / sizeof(*rows);
	uint64_t value = sym->st_value + (uint64_t)r->r_addend;
	unsigned type = ELF64_R_TYPE(r->r_info);
	struct site_row *row = &rows[i];

	if (i >= n || !sym->st_shndx || sym->st_shndx >= SHN_LORESERVE || value >> 48)
		return false;
	if (!at && type == R_X86_64_64) {
		row->ip = MZ_SITE(sym->st_shndx, value);
		return true;
	}
	if (type != R_X86_64_32 || sym->st_shndx != strings || value > UINT32_MAX)
		return false;
	switch (at) {
	case offsetof(struct site_row, file): row->file = (uint32_t)value; return true;
	case offsetof(struct site_row, function): row->function = (uint32_t)value; return true;
	case offsetof(struct site_row, type): row->type = (uint32_t)value; return true;
	case offsetof(struct site_row, members): row->members = (uint32_t)value; return true;
	default: return false;
	}
}

/* The relocations of the table. Headers and entries may be anything. */
static bool apply(struct mz_access_sites *s, const Elf64_Shdr *rela, size_t strings)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->map;
	const Elf64_Shdr *h = headers(s), *syms = &h[rela->sh_link];

	if (rela->sh_link >= e->e_shnum || !is_within(s, rela) || !is_within(s, syms))
		return false;
	for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= rela->sh_size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		Elf64_Sym sym;

		memcpy(&r, s->map + rela->sh_offset + at, sizeof(r));
		if (ELF64_R_SYM(r.r_info) >= syms->sh_size / sizeof(sym))
			return false;
		memcpy(&sym, s->map + syms->sh_offset + ELF64_R_SYM(r.r_info) * sizeof(sym),
		       sizeof(sym));
		if (!relocate(s->rows, s->n, &r, &sym, strings))
			return false;
	}
	return true;
}

/* In a module the numbers are in the relocations; a row that gets no address is damage. */
static bool relocate_all(struct mz_access_sites *s, const struct site_part *rows,
			 const struct site_part *strings)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->map;
	const Elf64_Shdr *h = headers(s);

	if (e->e_type != ET_REL)
		return true;
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].ip = 0;
	for (size_t i = 0; i < e->e_shnum; i++)
		if (h[i].sh_type == SHT_RELA && h[i].sh_info == rows->index &&
		    !apply(s, &h[i], strings->index))
			return false;
	for (size_t i = 0; i < s->n; i++)
		if (!s->rows[i].ip)
			return false;
	return true;
}

static int take_table(struct mz_access_sites *s, const char *path, struct mz_error *err)
{
	struct site_part rows, strings;

	if (!find_section(s, ".memorizer_sites", &rows) ||
	    !find_section(s, ".memorizer_strings", &strings) || !rows.size || !strings.size)
		return mz_fail(err, ENODATA, "%s: it has no table of access sites", path);
	if (rows.size % sizeof(struct site_row) || s->map[strings.at + strings.size - 1])
		return mz_fail(err, EINVAL, "%s: its table of access sites is damaged", path);
	s->strings = (const char *)s->map + strings.at;
	s->strings_size = strings.size;
	s->rows = malloc(rows.size);
	if (!s->rows)
		return mz_fail_memory(err);
	memcpy(s->rows, s->map + rows.at, rows.size);
	s->n = rows.size / sizeof(struct site_row);
	if (!relocate_all(s, &rows, &strings))
		return mz_fail(err, EINVAL, "%s: its table of access sites is damaged", path);
	qsort(s->rows, s->n, sizeof(struct site_row), by_ip);
	return 0;
}

static int map_file(struct mz_access_sites *s, const char *path, struct mz_error *err)
{
	struct stat st;
	int fd = mz_open_regular(path, &st);
	void *p;

	if (fd < 0)
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	p = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (p == MAP_FAILED)
		return mz_fail(err, ENODATA, "%s: it is empty, or cannot be mapped", path);
	s->map = p;
	s->length = (size_t)st.st_size;
	return 0;
}

struct mz_access_sites *mz_access_sites_open(const char *vmlinux, struct mz_error *err)
{
	struct mz_access_sites *s = mz_zalloc(sizeof(*s), err);

	if (!s)
		return NULL;
	if (map_file(s, vmlinux, err) < 0 || take_table(s, vmlinux, err) < 0) {
		mz_access_sites_close(s);
		return NULL;
	}
	return s;
}

void mz_access_sites_close(struct mz_access_sites *s)
{
	if (!s)
		return;
	if (s->map)
		munmap((void *)s->map, s->length);
	free(s->rows);
	free(s);
}

size_t mz_access_sites_count(const struct mz_access_sites *s)
{
	return s->n;
}

/* An offset beyond the section gives an empty text, because the file may be damaged. */
static const char *text(const struct mz_access_sites *s, uint32_t at)
{
	return at < s->strings_size ? s->strings + at : "";
}

static void fill(const struct mz_access_sites *s, const struct site_row *r,
		 struct mz_access_site *out)
{
	*out = (struct mz_access_site){
		.ip = r->ip,
		.file = text(s, r->file),
		.function = text(s, r->function),
		.line = r->line,
		.kind = r->kind > MZ_ACCESS_BOTH ? MZ_ACCESS_BOTH : (enum mz_access_kind)r->kind,
		.size = r->size,
		.type = text(s, r->type),
		.members = text(s, r->members),
		.offset = r->offset,
		.type_size = r->type_size,
		.is_union = r->is == 2,
	};
}

bool mz_access_sites_find(const struct mz_access_sites *s, uint64_t ip, struct mz_access_site *out)
{
	const struct site_row key = {.ip = ip};
	const struct site_row *r = bsearch(&key, s->rows, s->n, sizeof(*s->rows), by_ip);

	if (r)
		fill(s, r, out);
	return r != NULL;
}

void mz_access_sites_at(const struct mz_access_sites *s, size_t i, struct mz_access_site *out)
{
	fill(s, &s->rows[i], out);
}
