// SPDX-License-Identifier: BSD-2-Clause
/* Read the functions of a kernel module. */
/*
 * Its file has no addresses: the list of the kernel that loaded it (kallsyms) has them, section by
 * section, and debugging information has its own.
 */
#include "symbols/code_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbols/module_files.h"

/* ---- lists of names ------------------------------------------------------------------- */

struct name_list {
	struct mz_code_name *list;
	size_t n, cap;
};

static bool add_name(struct name_list *l, const char *name, uint64_t addr)
{
	if (!mz_array_room((void **)&l->list, &l->cap, l->n, sizeof(*l->list)))
		return false;
	l->list[l->n++] = (struct mz_code_name){name, addr};
	return true;
}

/* The list has the modules under their names. One without any name in it was not loaded. */
static int place_by_list(struct mz_code_module *m, const struct mz_kallsyms *k, uint64_t *at)
{
	struct name_list l = {0};
	const char *name, *of;
	uint64_t addr;
	int ret = 0;

	for (size_t i = 0; !ret && (name = mz_kallsyms_at(k, i, &addr, &of)); i++)
		if (of && !strcmp(of, m->name) && !add_name(&l, name, addr))
			ret = -ENOMEM;
	m->loaded = l.n > 0;
	if (!ret)
		ret = mz_code_place(&m->code, l.list, l.n, at);
	free(l.list);
	return ret;
}

/* The image has addresses of its own, which were chosen when the debugging information was read;
 * the names are the same. */
static int place_by_image(struct mz_code_module *m, uint64_t *at)
{
	struct name_list l = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < m->image->n_functions; i++) {
		const struct mz_image_symbol *s = &m->image->functions[i];

		if (!add_name(&l, m->image->strings + s->name, s->addr))
			ret = -ENOMEM;
	}
	if (!ret)
		ret = mz_code_place(&m->code, l.list, l.n, at);
	free(l.list);
	return ret;
}

/* ---- functions ---------------------------------------------------------------------------- */

/* A section moves as a whole. */
static uint64_t moved(const struct mz_code *c, size_t i, const uint64_t *at)
{
	size_t s = mz_code_section_of(c, i);

	return at[s] == MZ_CODE_NOWHERE ? MZ_CODE_NOWHERE
					: at[s] + (c->functions[i].start - c->sections[s].addr);
}

/* Information that does not fit the file is ignored; that is not a failure. */
static int find_files(struct mz_code_module *m, uint64_t *at)
{
	int ret;

	m->files = calloc(m->code.n ? m->code.n : 1, sizeof(*m->files));
	ret = m->files ? place_by_image(m, at) : -ENOMEM;
	if (ret == -ENOMEM)
		return ret;
	for (size_t i = 0; i < m->code.n; i++) {
		uint64_t addr = ret ? MZ_CODE_NOWHERE : moved(&m->code, i, at);
		struct mz_image_place p = {0};
		bool found = addr != MZ_CODE_NOWHERE && mz_image_find(m->image, addr, &p);

		m->files[i] = found && p.home ? p.home : "";
	}
	return 0;
}

/* Functions of modules share names with each other and with the kernel's. */
static int add_module_to_names(struct mz_code_module *m)
{
	struct mz_code *c = &m->code;
	size_t more = strlen(m->name) + 4, room = 1;
	char *names, *p;

	for (size_t i = 0; i < c->n; i++)
		room += strlen(c->functions[i].name) + more;
	p = names = malloc(room);
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		int n = sprintf(p, "%s [%s]", c->functions[i].name, m->name);

		c->functions[i].name = p;
		p += n + 1;
	}
	free(c->names);
	c->names = names;
	return 0;
}

/* Without a list the functions keep their addresses in the file, and count as unplaced. */
static int find_addresses(struct mz_code_module *m, const struct mz_kallsyms *k, uint64_t *at)
{
	int ret = k ? place_by_list(m, k, at) : 0;

	if (ret < 0)
		return ret;
	for (size_t i = 0; k && i < m->code.n_sections; i++)
		m->code.sections[i].loaded = at[i];
	for (size_t i = 0; k && i < m->code.n; i++) {
		uint64_t addr = moved(&m->code, i, at);

		m->unplaced += addr == MZ_CODE_NOWHERE;
		if (addr != MZ_CODE_NOWHERE)
			m->code.functions[i].start = addr;
	}
	if (!k)
		m->unplaced = m->code.n;
	return 0;
}

/* Files first: they are found by addresses of the file. */
static int settle(struct mz_code_module *m, const char *path, const struct mz_kallsyms *k,
		  struct mz_error *err)
{
	uint64_t *at = calloc(m->code.n_sections, sizeof(*at));
	int ret = at ? find_files(m, at) : -ENOMEM;

	if (!ret)
		ret = find_addresses(m, k, at);
	if (!ret)
		ret = add_module_to_names(m);
	free(at);
	if (ret == -EINVAL)
		return mz_fail(err, EINVAL,
			       "%s: the list of symbols is of another build of this module", path);
	return ret < 0 ? mz_fail_memory(err) : 0;
}

int mz_code_module_read(struct mz_code_module *m, const char *path, const struct mz_kallsyms *k,
			struct mz_error *err)
{
	int ret;

	*m = (struct mz_code_module){0};
	mz_module_name(path, m->name, sizeof(m->name));
	ret = mz_code_read(&m->code, path, err);
	if (ret < 0)
		return ret;
	if (!m->code.relocatable)
		return mz_fail(err, EINVAL, "%s: it is linked, so it is not a module", path);
	m->image = mz_image_open(path, true, err);
	return m->image ? settle(m, path, k, err) : -EINVAL;
}

void mz_code_module_deinit(struct mz_code_module *m)
{
	mz_code_deinit(&m->code);
	mz_image_free(m->image);
	free(m->files);
}

/* ---- all that were loaded ------------------------------------------------------------------- */

/* A module that cannot be read, placed or counted is left out: the others still count. */
static int read_one(const char *path, const struct mz_kallsyms *k, mz_code_module_put *put,
		    void *arg, struct mz_code_modules *c)
{
	struct mz_code_module m;
	struct mz_error why = {0};
	int ret = mz_code_module_read(&m, path, k, &why);

	if (ret == -ENOMEM) {
		mz_code_module_deinit(&m);
		return ret;
	}
	c->unreadable += ret < 0;
	if (ret >= 0 && m.unplaced == m.code.n)
		c->unplaced++;
	else if (ret >= 0)
		ret = put(arg, path, &m);
	mz_code_module_deinit(&m);
	return ret == -ENOMEM ? ret : 0;
}

int mz_code_modules_read(const char *dir, const struct mz_kallsyms *k, mz_code_module_put *put,
			 void *arg, struct mz_code_modules *c)
{
	struct mz_module_files files = {0};
	size_t n = 0;
	const char **names = mz_kallsyms_modules(k, &n);
	int ret = names ? mz_module_files_scan(&files, n ? dir : NULL) : -ENOMEM;

	*c = (struct mz_code_modules){.loaded = n};
	for (size_t i = 0; !ret && i < n; i++) {
		const char *path = mz_module_files_find(&files, names[i]);

		c->no_file += !path;
		ret = path ? read_one(path, k, put, arg, c) : 0;
	}
	mz_module_files_deinit(&files);
	free(names);
	return ret;
}
