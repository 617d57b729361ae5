// SPDX-License-Identifier: BSD-2-Clause
/* Find a KMAP's symbol files and read the map into the model. */
#include "cmds/kmap/kmap_load.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/kmap_types.h"
#include "base/error.h"
#include "cmds/progress.h"

/* Names that live as long as the symbols are being opened. */
struct files {
	struct mz_symbols_kernel kernel;
	char paths[12][PATH_MAX];
	size_t n;
	bool some;
};

static const char *keep(struct files *f, const char *dir, size_t len, const char *name)
{
	char *p = f->paths[f->n];

	if (f->n == sizeof(f->paths) / sizeof(*f->paths) ||
	    (size_t)snprintf(p, PATH_MAX, "%.*s%s", (int)len, dir, name) >= PATH_MAX ||
	    access(p, R_OK))
		return NULL;
	f->n++;
	return p;
}

/* A folder holds them under their usual names, and perhaps modules. */
static void add_folder(struct files *f, const char *dir, size_t len, bool modules)
{
	static const char *const names[] = {"kallsyms", "System.map", "System.map.files", "vmlinux",
					    "global_table"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *path = keep(f, dir, len, names[i]);

		f->some |= path && mz_symbols_sort(path, &f->kernel);
	}
	if (modules)
		f->kernel.modules = keep(f, dir, len, "");
}

static int add_named(struct files *f, const char *list)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		const char *path = keep(f, list, len, "");
		char dir[PATH_MAX];

		if (!path || !mz_symbols_sort(path, &f->kernel)) {
			console_fail("%.*s: %s", (int)len, list,
				     path ? "no kallsyms, System.map or vmlinux; --symbols takes "
					    "those, or a folder "
					    "with them"
					  : "no such file, or it cannot be read");
			return -1;
		}
		if (f->kernel.modules == path) {
			snprintf(dir, sizeof(dir), "%s/", path);
			add_folder(f, dir, strlen(dir), true);
		}
		f->some = true;
		list += len + (list[len] == ',');
	}
	return 0;
}

/* X.kmap: X.kallsyms and X.vmlinux, or what its folder has under the usual names. */
static void add_beside(struct files *f, const char *path)
{
	static const char *const ends[] = {".zst", ".gz", ".kmap", ".cmt"};
	const char *slash = strrchr(path, '/');
	size_t dir = slash ? (size_t)(slash - path) + 1 : 0, len = strlen(path);
	const char *own;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);

		if (len > dir + n && !strncmp(path + len - n, ends[i], n))
			len -= n;
	}
	add_folder(f, path, dir, false);
	own = keep(f, path, len, ".kallsyms");
	f->some |= own && mz_symbols_sort(own, &f->kernel);
	own = keep(f, path, len, ".vmlinux");
	f->some |= own && mz_symbols_sort(own, &f->kernel);
}

static bool show(void *arg, const struct mz_kmap *k)
{
	progress_show(arg, mz_kmap_share(k), mz_kmap_lines(k), "lines");
	return true;
}

static int open_symbols(struct files *f, const struct kmap_load *o, struct mz_symbols **symbols,
			struct mz_error *err)
{
	int ret = 0;

	if ((!o->symbols || o->beside_too) && strcmp(o->path, "-"))
		add_beside(f, o->path);
	if (o->symbols)
		ret = add_named(f, o->symbols);
	if (!ret && f->some) {
		*symbols = mz_symbols_open_kernel(&f->kernel, err);
		if (!*symbols) {
			console_error(err);
			ret = -1;
		}
	}
	return ret;
}

int kmap_load_symbols(const struct kmap_load *o, struct mz_symbols **symbols, struct mz_error *err)
{
	struct files *f = calloc(1, sizeof(*f));
	int ret = f ? open_symbols(f, o, symbols, err) : mz_fail_memory(err);

	free(f);
	return ret;
}

/* A vmlinux without types is no error: there are none then. */
static int find_types(struct mz_kmap_model *m, const struct files *f, struct mz_symbols *symbols,
		      struct mz_error *err)
{
	const char *from[] = {f->kernel.vmlinux, f->kernel.btf};
	struct mz_types *types = NULL;

	for (size_t i = 0; i < 2 && !types; i++) {
		struct mz_error e = {0};

		types = from[i] ? mz_types_open(from[i], &e) : NULL;
		if (!types && e.code && e.code != ENODATA) {
			*err = e;
			return -e.code;
		}
	}
	if (types && mz_kmap_find_types(m, types, mz_symbols_shift(symbols)) < 0)
		return mz_fail_memory(err);
	return 0;
}

/* What the map cannot say. */
static void note_map(const struct mz_kmap_model *m, const struct mz_kmap *k, const char *path)
{
	char text[160];
	const char *note = mz_kmap_note(k, text, sizeof(text));

	if (note)
		console_note("%s: %s", path, note);
	if (m->hashed)
		console_note("%s: %llu code addresses are hashed and have no names: the kernel ran "
			     "without no_hash_pointers",
			     path, (unsigned long long)m->hashed);
}

int kmap_load(struct mz_kmap_model *m, const struct kmap_load *o)
{
	struct mz_kmap_model_options mo = {.progress = show, .by = o->by, .space = o->space};
	struct mz_error err = {0};
	struct progress p;
	struct mz_kmap *k;
	struct files *f = calloc(1, sizeof(*f));
	int ret;

	memset(m, 0, sizeof(*m));
	if (!f)
		return console_fail("out of memory"), -1;
	if (open_symbols(f, o, &mo.symbols, &err) < 0) {
		free(f);
		return -1;
	}
	if (o->or_function && !(mo.symbols && mz_symbols_has_lines(mo.symbols)))
		mo.by = MZ_KMAP_BY_FUNCTION;
	progress_start(&p, o->path);
	mo.arg = &p;
	k = mz_kmap_open(o->path, &err);
	if (k)
		mz_kmap_skip_bad(k, o->skip_bad);
	ret = k ? mz_kmap_model_read(m, k, &mo, &err) : -1;
	if (ret >= 0 && o->types && mo.symbols)
		ret = find_types(m, f, mo.symbols, &err);
	progress_end(&p);
	if (k && ret >= 0)
		note_map(m, k, o->path);
	mz_kmap_close(k);
	mz_symbols_close(mo.symbols);
	free(f);
	if (ret < 0) {
		console_error(&err);
		return -1;
	}
	if (m->bad_lines)
		console_note("%s: %llu lines could not be understood and were left out", o->path,
			     (unsigned long long)m->bad_lines);
	return 0;
}
