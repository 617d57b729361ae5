// SPDX-License-Identifier: BSD-2-Clause
/* Read the maps and the functions that a measure of privilege needs. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cmds/kmap/kmap_opts.h"
#include "cmds/recording.h"
#include "symbols/files.h"

static int add_map(struct mz_union *u, const struct kmap_opts *o, char *path, struct mz_error *err)
{
	struct mz_recording_options ro = {
		.want = MZ_RECORDING_KMAP, .symbols = o->symbols, .skip_bad = o->skip_bad};
	struct mz_recording_model how = {.by = MZ_KMAP_BY_FUNCTION, .lives = true};
	struct mz_kmap_model m = {0};
	struct mz_recording r;
	struct progress progress;
	int ret = recording_open(&r, &path, 1, &ro, &progress, err);

	if (ret >= 0)
		ret = recording_model(&r, &how, &m, err);
	if (ret >= 0 && mz_union_add(u, &m, path) < 0)
		ret = mz_fail_memory(err);
	mz_kmap_model_deinit(&m);
	mz_recording_close(&r);
	return ret;
}

int kmap_load_maps(struct mz_union *u, const struct kmap_opts *o, int n, char **paths,
		   struct mz_error *err)
{
	char *input[] = {(char *)"-"};
	int ret = 0;

	if (!n) {
		n = 1;
		paths = input;
	}
	for (int i = 0; i < n && ret >= 0; i++)
		ret = add_map(u, o, paths[i], err);
	if (ret >= 0 && mz_union_finish(u) < 0)
		ret = mz_fail_memory(err);
	return ret;
}

static bool is_elf(const char *path)
{
	struct mz_symbols_kernel k = {0};

	return mz_symbols_sort(path, &k) && k.vmlinux;
}

static int count_in(struct kmap_load *l, const char *path, struct mz_error *err)
{
	l->vmlinux = strdup(path);
	return l->vmlinux ? mz_functions_count(&l->f, path, err) : mz_fail_memory(err);
}

static int find_functions(struct kmap_load *l, const struct kmap_opts *o, const char *path,
			  struct mz_error *err)
{
	if (o->functions)
		return is_elf(o->functions) ? count_in(l, o->functions, err)
					    : mz_functions_read(&l->f, o->functions, err);
	return mz_functions_open(&l->f, o->symbols, path, &l->vmlinux, err);
}

/* Modules that the kernel had loaded and that the figures do not contain, by cause. */
static void note_modules(const struct mz_functions *f)
{
	const struct mz_code_modules *m = &f->modules;
	size_t out = m->no_file + m->unreadable + m->unplaced + f->modules_plain;

	if (out)
		console_note("%zu of %zu modules that were loaded are left out: %zu have no file "
			     "in a folder of --symbols, %zu are of another build or cannot be "
			     "read, %zu have no known address, %zu have no count of accesses",
			     out, m->loaded, m->no_file, m->unreadable, m->unplaced,
			     f->modules_plain);
}

/* What the figures do not contain, by cause. */
static void note_left_out(const struct mz_privilege *p)
{
	if (p->unknown_edges || p->unknown_calls)
		console_note(
			"left out: %llu accesses and %llu calls by code that is in no function",
			(unsigned long long)p->unknown_edges, (unsigned long long)p->unknown_calls);
	if (p->module_edges || p->module_objects || p->module_calls)
		console_note(
			"left out: %llu accesses, %llu calls and %llu kinds of objects of modules "
			"that are not in the table of functions",
			(unsigned long long)p->module_edges, (unsigned long long)p->module_calls,
			(unsigned long long)p->module_objects);
	if (p->u->dropped)
		console_note("left out: %llu entries that are the recorder's or are not objects",
			     (unsigned long long)p->u->dropped);
}

/* Reports a file that is not a map before other files are missed; a pipe is checked later. */
int kmap_check(const struct kmap_opts *o, char *path, struct mz_error *err)
{
	struct mz_recording_options ro = {
		.want = MZ_RECORDING_KMAP, .symbols = o->symbols, .flags = options_open_flags()};
	struct mz_recording r;
	struct stat st;
	int ret;

	if (!strcmp(path, "-") ||
	    (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	ret = mz_recording_open(&r, &path, 1, &ro, err);
	mz_recording_close(&r);
	return ret;
}

int kmap_load(struct kmap_load *l, const struct kmap_opts *o, int n, char **paths,
	      struct mz_error *err)
{
	int ret = 0;

	memset(l, 0, sizeof(*l));
	if (mz_union_init(&l->u) < 0)
		return mz_fail_memory(err);
	for (int i = 0; i < n && !ret; i++)
		ret = kmap_check(o, paths[i], err);
	if (ret >= 0)
		ret = find_functions(l, o, n ? paths[0] : "-", err);
	if (ret >= 0)
		ret = kmap_load_maps(&l->u, o, n, paths, err);
	if (ret >= 0 && l->vmlinux)
		ret = mz_privilege_check(&l->u, l->vmlinux, err);
	if (ret >= 0)
		ret = mz_privilege_init(&l->p, &l->u, &l->f, err);
	if (ret >= 0) {
		note_modules(&l->f);
		note_left_out(&l->p);
	}
	return ret;
}

void kmap_load_free(struct kmap_load *l)
{
	mz_privilege_deinit(&l->p);
	mz_functions_deinit(&l->f);
	mz_union_deinit(&l->u);
	free(l->vmlinux);
}
