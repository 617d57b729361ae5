// SPDX-License-Identifier: BSD-2-Clause
/* Read the table of access sites that the GCC plugin leaves in a kernel. */
#include "symbols/access_sites.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"

/* A row as the plugin writes it; little-endian, without padding. */
struct row {
	uint64_t ip;
	uint32_t file, function, type, members; /* in the section of strings */
	uint32_t line, offset, type_size;
	uint16_t size;
	uint8_t kind, is;
};

_Static_assert(sizeof(struct row) == 40, "it has no padding");

struct mz_access_sites {
	const uint8_t *map;
	size_t length;
	struct row *rows; /* sorted by address */
	size_t n;
	const char *strings; /* in the map; the last byte is 0 */
	size_t strings_size;
};

struct part {
	uint64_t at, size;
};

/* A section of the file by its name; everything in the headers is checked. */
static bool find_section(const struct mz_access_sites *s, const char *name, struct part *out)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->map;
	const Elf64_Shdr *h, *names;

	if (s->length < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB ||
	    e->e_shentsize != sizeof(*h) || e->e_shoff % 8 || e->e_shoff > s->length ||
	    (s->length - e->e_shoff) / sizeof(*h) < e->e_shnum || e->e_shstrndx >= e->e_shnum)
		return false;
	h = (const Elf64_Shdr *)(s->map + e->e_shoff);
	names = &h[e->e_shstrndx];
	if (names->sh_offset > s->length || names->sh_size > s->length - names->sh_offset)
		return false;
	for (size_t i = 0; i < e->e_shnum; i++) {
		if (h[i].sh_name >= names->sh_size || h[i].sh_type != SHT_PROGBITS ||
		    names->sh_size - h[i].sh_name <= strlen(name) ||
		    strcmp((const char *)s->map + names->sh_offset + h[i].sh_name, name) != 0)
			continue;
		*out = (struct part){h[i].sh_offset, h[i].sh_size};
		return out->at <= s->length && out->size <= s->length - out->at;
	}
	return false;
}

static int by_ip(const void *a, const void *b)
{
	uint64_t x = ((const struct row *)a)->ip, y = ((const struct row *)b)->ip;

	return MZ_ORDER(x, y);
}

static int take_table(struct mz_access_sites *s, const char *path, struct mz_error *err)
{
	struct part rows, strings;

	if (!find_section(s, ".memorizer_sites", &rows) ||
	    !find_section(s, ".memorizer_strings", &strings) || !rows.size || !strings.size)
		return mz_fail(err, ENODATA, "%s: it has no table of access sites", path);
	if (rows.size % sizeof(struct row) || s->map[strings.at + strings.size - 1])
		return mz_fail(err, EINVAL, "%s: its table of access sites is damaged", path);
	s->strings = (const char *)s->map + strings.at;
	s->strings_size = strings.size;
	s->rows = malloc(rows.size);
	if (!s->rows)
		return mz_fail_memory(err);
	memcpy(s->rows, s->map + rows.at, rows.size);
	s->n = rows.size / sizeof(struct row);
	qsort(s->rows, s->n, sizeof(struct row), by_ip);
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
	struct mz_access_sites *s = calloc(1, sizeof(*s));

	if (!s) {
		mz_fail_memory(err);
		return NULL;
	}
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

static const char *text(const struct mz_access_sites *s, uint32_t at)
{
	return at < s->strings_size ? s->strings + at : "";
}

static void fill(const struct mz_access_sites *s, const struct row *r, struct mz_access_site *out)
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
	const struct row key = {.ip = ip};
	const struct row *r = bsearch(&key, s->rows, s->n, sizeof(*s->rows), by_ip);

	if (r)
		fill(s, r, out);
	return r != NULL;
}

void mz_access_sites_at(const struct mz_access_sites *s, size_t i, struct mz_access_site *out)
{
	fill(s, &s->rows[i], out);
}
