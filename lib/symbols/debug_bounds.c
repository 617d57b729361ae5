// SPDX-License-Identifier: BSD-2-Clause
/* Refuse ELF files whose packed sections unpack to more than the file explains. */
#include "symbols/debug_bounds.h"

#include <endian.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

/* zlib packs debugging information to a third or a fifth, and zeros to a thousandth. */
#define UNPACKED_CONSTANT (64ull << 20)
#define UNPACKED_FACTOR	  32u

/* The dictionary of a decoder for .gnu_debugdata. The largest preset of xz needs 65 MiB. */
#define LZMA_MEMORY (96ull << 20)

static bool is_large(uint64_t packed, uint64_t unpacked)
{
	return unpacked > UNPACKED_CONSTANT &&
	       (unpacked - UNPACKED_CONSTANT) / UNPACKED_FACTOR > packed;
}

/* ---- sections that say their size -------------------------------------------------------- */

/* The unpacked size that a section claims; 0: it is not packed. Sections .zdebug_* have an older
 * form, with the size in their header. */
static uint64_t unpacked_size(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	GElf_Chdr mem, *ch;
	Elf_Data *d;
	uint64_t n;

	if (sh->sh_flags & SHF_COMPRESSED) {
		ch = gelf_getchdr(scn, &mem);
		return ch ? ch->ch_size : 0;
	}
	if (!name || strncmp(name, ".zdebug", 7) != 0)
		return 0;
	d = elf_rawdata(scn, NULL);
	if (!d || !d->d_buf || d->d_size < 12)
		return 0;
	memcpy(&n, (char *)d->d_buf + 4, sizeof(n));
	return be64toh(n);
}

static bool sections_are_large(Elf *elf, size_t names)
{
	uint64_t packed = 0, unpacked = 0;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr mem, *sh = gelf_getshdr(scn, &mem);
		uint64_t n = sh ? unpacked_size(scn, sh, elf_strptr(elf, names, sh->sh_name)) : 0;

		packed += n ? sh->sh_size : 0;
		if (__builtin_add_overflow(unpacked, n, &unpacked))
			return true;
	}
	return is_large(packed, unpacked);
}

/* ---- .gnu_debugdata ---------------------------------------------------------------------- */

/* An ELF file in a section, packed by xz. Its head does not bind it to a size, and libdw unpacks
 * it whatever that takes: unpacking it here first is the only way to know. */
struct unpacked {
	char *data;
	size_t size, room;
};

static bool more_room(struct unpacked *u)
{
	size_t room = u->room ? 2 * u->room : 1 << 20;
	char *data = realloc(u->data, room);

	if (data) {
		u->data = data;
		u->room = room;
	}
	return data != NULL;
}

/* LZMA_STREAM_END; LZMA_MEM_ERROR and LZMA_MEMLIMIT_ERROR: too large; anything else: damaged,
 * which libdw finds at the same byte. */
static lzma_ret unpack_xz(lzma_stream *z, uint64_t packed, struct unpacked *u)
{
	lzma_ret ret = lzma_auto_decoder(z, LZMA_MEMORY, 0);

	while (ret == LZMA_OK) {
		if (is_large(packed, u->size) || (u->size == u->room && !more_room(u)))
			return LZMA_MEM_ERROR;
		z->next_out = (uint8_t *)u->data + u->size;
		z->avail_out = u->room - u->size;
		ret = lzma_code(z, LZMA_RUN);
		u->size = u->room - z->avail_out;
	}
	return ret;
}

static bool sections_of(const struct unpacked *u)
{
	Elf *elf = elf_memory(u->data, u->size);
	size_t names;
	bool large = elf && !elf_getshdrstrndx(elf, &names) && sections_are_large(elf, names);

	elf_end(elf);
	return large;
}

static bool debugdata_is_large(Elf_Scn *scn)
{
	Elf_Data *d = elf_rawdata(scn, NULL);
	lzma_stream z = LZMA_STREAM_INIT;
	struct unpacked u = {.data = NULL};
	lzma_ret ret;
	bool large;

	if (!d || !d->d_buf)
		return false;
	z.next_in = d->d_buf;
	z.avail_in = d->d_size;
	ret = unpack_xz(&z, d->d_size, &u);
	large = ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR || sections_of(&u);
	lzma_end(&z);
	free(u.data);
	return large;
}

/* A file may have several sections of this name; libdw takes the first. */
static bool is_debugdata(Elf *elf, Elf_Scn *scn, size_t names)
{
	GElf_Shdr mem, *sh = gelf_getshdr(scn, &mem);
	const char *name = sh ? elf_strptr(elf, names, sh->sh_name) : NULL;

	return name && !strcmp(name, ".gnu_debugdata");
}

bool mz_debug_unpacks_large(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn)))
		if (is_debugdata(elf, scn, names))
			break;
	return (scn && debugdata_is_large(scn)) || sections_are_large(elf, names);
}
