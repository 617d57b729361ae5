// SPDX-License-Identifier: BSD-2-Clause
/* Find the separate file of debugging information of a module. */
#include "symbols/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/regular.h"
#include "symbols/debug_bounds.h"

/* ---- is it the right one? ---------------------------------------------------------------- */

static bool same_id(Elf *elf, const unsigned char *id, int len)
{
	const void *bits;

	return dwelf_elf_gnu_build_id(elf, &bits) == len && !memcmp(bits, id, (size_t)len);
}

static bool same_crc(int fd, GElf_Word want)
{
	static const size_t room = 65536;
	unsigned char *buf = malloc(room);
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n = buf ? 1 : -1;

	while (n > 0) {
		n = pread(fd, buf, room, at);
		if (n > 0)
			crc = crc32(crc, buf, (uInt)n);
		at += n > 0 ? n : 0;
	}
	free(buf);
	return !n && crc == want;
}

/* A file that several others share (dwz) is named with a path, and libdw compares no id. */
static bool is_right(Dwfl_Module *mod, int fd, const char *link, GElf_Word crc)
{
	const unsigned char *id;
	GElf_Addr at;
	int len = dwfl_module_build_id(mod, &id, &at);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool right = elf && elf_kind(elf) == ELF_K_ELF && !mz_debug_unpacks_large(elf);

	if (right && !(link && strchr(link, '/')))
		right = len > 0 ? same_id(elf, id, len) : link && same_crc(fd, crc);
	elf_end(elf);
	return right;
}

/* ---- where it may be --------------------------------------------------------------------- */

static int try_path(Dwfl_Module *mod, const char *path, const char *link, GElf_Word crc,
		    char **found)
{
	int fd = mz_open_regular(path, NULL);

	if (fd < 0)
		return -1;
	if (is_right(mod, fd, link, crc))
		*found = strdup(path);
	if (*found)
		return fd;
	close(fd);
	return -1;
}

/* Beside the file, in .debug beside it, and below /usr/lib/debug. Without a link its name is that
 * of the file, with .debug. */
static int try_beside(Dwfl_Module *mod, const char *file, const char *link, GElf_Word crc,
		      char **found)
{
	static const char *const forms[] = {"%s%.*s/%s", "%s%.*s/.debug/%s", "%s%.*s/%s"};
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	int folder = slash ? (int)(slash - file) : 1, fd = -1;
	char name[NAME_MAX + 8], path[PATH_MAX];

	if (!link)
		snprintf(name, sizeof(name), "%.*s.debug", NAME_MAX, base);
	if (link && *link == '/')
		return try_path(mod, link, link, crc, found);
	for (unsigned i = 0; i < 3 && fd < 0; i++) {
		int n = snprintf(path, sizeof(path), forms[i], i == 2 ? "/usr/lib/debug" : "",
				 folder, slash ? file : ".", link ? link : name);

		if (n > 0 && (size_t)n < sizeof(path) && strcmp(path, file) != 0)
			fd = try_path(mod, path, link, crc, found);
	}
	return fd;
}

int mz_debug_file_find(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd = dwfl_build_id_find_debuginfo(mod, userdata, name, base, file, link, crc, found);
	char *real;

	if (fd < 0 && file && !*found)
		fd = try_beside(mod, file, link, crc, found);
	/* what a symbolic link leads to may have its file where it is */
	real = fd < 0 && file && !*found ? realpath(file, NULL) : NULL;
	if (real && strcmp(real, file) != 0)
		fd = try_beside(mod, real, link, crc, found);
	free(real);
	/* without names, it looks no further than the servers */
	if (fd < 0 && !*found)
		fd = dwfl_standard_find_debuginfo(mod, userdata, name, base, NULL, NULL, 0, found);
	if (fd < 0)
		errno = 0; /* there is none */
	return fd;
}
