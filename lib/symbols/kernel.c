// SPDX-License-Identifier: BSD-2-Clause
/* Open the symbols of a kernel: its list (kallsyms), its image (vmlinux) and its modules. */
/* The list has the addresses at which the kernel ran, and the image those at which it was linked,
 * so it must be found out how far the one was moved from the other. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/regular.h"
#include "symbols/debuginfo.h"
#include "symbols/module_files.h"
#include "symbols/private.h"

/* Symbols at the start of the kernel's code, in every kernel. */
static const char *const anchors[] = {"_stext", "_text", "startup_64", "_sinittext"};

/* Some symbols have no size: a page is assumed for the last one. */
static uint64_t image_length(const struct mz_image *im)
{
	const struct mz_image_symbol *last;

	if (!im->n_functions)
		return im->n_rows ? (uint64_t)im->rows[im->n_rows - 1].at + 4096 : 0;
	last = &im->functions[im->n_functions - 1];
	return last->addr + (last->size ? last->size : 4096) - im->base;
}

static void set_shift(struct mz_symbols *s, uint64_t shift)
{
	struct mz_symbols_module *m = &s->modules[0];

	m->shift = shift;
	m->base = m->image->base + shift;
}

/* Where a symbol was linked: by an image, or by a System.map. 0 = not known. */
typedef uint64_t linked_at(const void *from, const char *name);

static uint64_t in_image(const void *image, const char *name)
{
	return mz_image_symbol(image, name);
}

static uint64_t in_map(const void *map, const char *name)
{
	return mz_kallsyms_address(map, name);
}

/* The list that a recording contains has the functions of its stacks only: what most of them say,
 * because a name may occur twice. False: they say nothing. */
static bool shift_by_most(const struct mz_kallsyms *list, linked_at *linked, const void *from,
			  uint64_t *shift)
{
	uint64_t addr;
	const char *module, *name;
	unsigned votes = 0, asked = 0;

	for (size_t i = 0; asked < 64 && (name = mz_kallsyms_at(list, i, &addr, &module)); i++) {
		uint64_t at = module ? 0 : linked(from, name);

		asked += !module;
		if (!at || (addr - at) & 4095) /* kernels are moved by whole pages */
			continue;
		if (!votes)
			*shift = addr - at;
		votes += *shift == addr - at ? 1 : -1u;
	}
	return votes;
}

/* Any symbol that both know would do. Several are tried because kernels differ in what they
 * keep. */
static void shift_by_list(struct mz_symbols *s)
{
	uint64_t shift;

	for (size_t i = 0; i < sizeof(anchors) / sizeof(*anchors); i++) {
		uint64_t ran = mz_kallsyms_address(s->kallsyms, anchors[i]);
		uint64_t linked = mz_image_symbol(s->modules[0].image, anchors[i]);

		if (!ran || !linked)
			continue;
		set_shift(s, ran - linked);
		return;
	}
	if (shift_by_most(s->kallsyms, in_image, s->modules[0].image, &shift))
		set_shift(s, shift);
}

/* The same for two lists. */
static void shift_files(struct mz_symbols *s)
{
	uint64_t shift;

	for (size_t i = 0; i < sizeof(anchors) / sizeof(*anchors); i++) {
		uint64_t ran = mz_kallsyms_address(s->kallsyms, anchors[i]);
		uint64_t linked = mz_kallsyms_address(s->files, anchors[i]);

		if (!ran || !linked)
			continue;
		s->files_shift = (int64_t)(linked - ran);
		return;
	}
	if (shift_by_most(s->kallsyms, in_map, s->files, &shift))
		s->files_shift = -(int64_t)shift;
}

/* A System.map beside kallsyms is of use for the files in it. */
static int open_files(struct mz_symbols *s, const char *path, struct mz_error *err)
{
	s->files = mz_kallsyms_load(path, err);
	if (!s->files)
		return -EINVAL;
	if (mz_kallsyms_has_files(s->files)) {
		shift_files(s);
	} else {
		mz_kallsyms_free(s->files);
		s->files = NULL;
	}
	return 0;
}

static int open_vmlinux(struct mz_symbols *s, const char *path, struct mz_error *err)
{
	struct mz_symbols_module *m = mz_symbols_add(s, path);

	if (!m)
		return mz_fail_memory(err);
	m->opened = true;
	m->image = mz_image_open(path, true, err);
	if (!m->image)
		return -EINVAL;
	m->length = image_length(m->image);
	set_shift(s, 0);
	return 0;
}

/* ---- modules ----------------------------------------------------------------------- */

/* A symbol that both have shows where the file was loaded. */
static bool place_module(struct mz_symbols *s, struct mz_symbols_module *m, const char *module)
{
	uint64_t lo = UINT64_MAX, hi = 0, addr;
	const char *of, *name;
	bool placed = false;

	for (size_t i = 0; (name = mz_kallsyms_at(s->kallsyms, i, &addr, &of)); i++) {
		uint64_t linked;

		if (!of || strcmp(of, module))
			continue;
		lo = addr < lo ? addr : lo;
		hi = addr > hi ? addr : hi;
		linked = placed ? 0 : mz_image_symbol(m->image, name);
		if (!linked)
			continue;
		m->shift = addr - linked;
		placed = true;
	}
	m->base = lo;
	m->length = placed ? hi - lo + 4096 : 0;
	return placed;
}

/* A module that cannot be placed is counted and names nothing: wrong names are worse than
 * none. */
static int open_module(struct mz_symbols *s, const char *path, const char *module)
{
	struct mz_symbols_module *m = mz_symbols_add(s, path);

	if (!m)
		return -ENOMEM;
	m->opened = true;
	m->name = module;
	m->image = mz_image_open(path, true, NULL);
	if (!m->image || !place_module(s, m, module)) {
		m->length = 0; /* it names nothing */
		s->missing++;
	}
	return 0;
}

static int open_modules(struct mz_symbols *s, const char *dir)
{
	struct mz_module_files files;
	size_t n;
	const char **names = mz_kallsyms_modules(s->kallsyms, &n);
	int ret = names ? mz_module_files_scan(&files, n ? dir : NULL) : -ENOMEM;

	for (size_t i = 0; !ret && i < n; i++) {
		const char *path = mz_module_files_find(&files, names[i]);

		ret = path ? open_module(s, path, names[i]) : 0;
	}
	if (names)
		mz_module_files_deinit(&files);
	free(names);
	return ret;
}

/* ---- opening ------------------------------------------------------------------------- */

static int open_all(struct mz_symbols *s, const struct mz_symbols_kernel *f, struct mz_error *err)
{
	bool ran = f->kallsyms || f->list_size;
	int ret = 0;

	s->kernel = true;
	s->linked_list = !ran;
	if (f->kallsyms)
		s->kallsyms = mz_kallsyms_load(f->kallsyms, err);
	else if (ran)
		s->kallsyms = mz_kallsyms_parse(f->list, f->list_size, "kallsyms", err);
	else if (f->map)
		s->kallsyms = mz_kallsyms_load(f->map, err);
	if ((ran || f->map) && !s->kallsyms)
		return -EINVAL;
	if (f->globals) {
		s->globals = mz_kallsyms_load(f->globals, err);
		if (!s->globals)
			return -EINVAL;
	}
	if (ran && f->map)
		ret = open_files(s, f->map, err);
	if (!ret && f->vmlinux)
		ret = open_vmlinux(s, f->vmlinux, err);
	if (!ret && f->vmlinux && ran)
		shift_by_list(s);
	if (!ret && f->modules && ran && open_modules(s, f->modules) < 0)
		ret = mz_fail_memory(err);
	return ret;
}

struct mz_symbols *mz_symbols_open_kernel(const struct mz_symbols_kernel *files,
					  struct mz_error *err)
{
	struct mz_symbols *s = mz_symbols_new();

	if (!s) {
		mz_fail_memory(err);
		return NULL;
	}
	if (open_all(s, files, err) < 0) {
		mz_symbols_close(s);
		return NULL;
	}
	return s;
}

/* Files are told apart by content; only System.map and kallsyms, which have one format, by
 * name. */
bool mz_symbols_sort(const char *path, struct mz_symbols_kernel *files)
{
	const char *base = strrchr(path, '/');
	char head[64] = "";
	struct stat st;
	int fd;
	bool list, globals;

	if (stat(path, &st))
		return false;
	if (S_ISDIR(st.st_mode)) {
		files->modules = path;
		return true;
	}
	fd = mz_open_regular(path, NULL);
	if (fd < 0 || read(fd, head, sizeof(head) - 1) < 20)
		head[0] = '\0';
	if (fd >= 0)
		close(fd);
	base = base ? base + 1 : path;
	list = strspn(head, "0123456789abcdef") == 16 && head[16] == ' ';
	/* kallsyms has a letter where global_table has a size */
	globals = list && head[17] >= '0' && head[17] <= '9';
	list = list && head[18] == ' ';
	if (!memcmp(head, "\177ELF", 4))
		files->vmlinux = path;
	else if (!memcmp(head, "\x9f\xeb\x01", 3))
		files->btf = path;
	else if (globals)
		files->globals = path;
	else if (list && !strncmp(base, "System.map", 10))
		files->map = path;
	else if (list)
		files->kallsyms = path;
	else
		return false;
	return true;
}

const struct mz_kallsyms *mz_symbols_list(const struct mz_symbols *s)
{
	return s->linked_list ? NULL : s->kallsyms;
}

int64_t mz_symbols_shift(const struct mz_symbols *s)
{
	if (s->count && s->kernel)
		return (int64_t)s->modules[0].shift;
	return -s->list_shift;
}

/* Without kallsyms the offset is guessed from return addresses, each of which must follow a
 * call. */
void mz_symbols_shift_by(struct mz_symbols *s, const uint64_t *ips, size_t n)
{
	const struct mz_debuginfo *d;
	uint64_t shift;

	if (!s->kernel || !s->count || (s->kallsyms && !s->linked_list))
		return;
	d = mz_debuginfo(NULL);
	if (!d || !d->kaslr_guess(s->modules[0].path, ips, n, &shift))
		return;
	set_shift(s, shift);
	s->list_shift = -(int64_t)shift;
}
