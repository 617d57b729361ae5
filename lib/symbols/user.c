// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/user.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE 4096u /* a power of two */

struct module {
	uint64_t base, length;
	char *path;
	char *name;
	Dwfl_Module *dwfl;
	uint8_t id[64];
	size_t id_len;
};

struct entry {
	uint64_t ip;
	bool known;
	struct mz_symbol symbol;
	struct entry *next;
};

struct mz_symbols {
	Dwfl *dwfl;
	struct module *modules;
	size_t count;
	unsigned missing;
	struct entry *cache[CACHE];
	char *(*demangle)(const char *, char *, size_t *, int *);
	void *cxx;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static size_t parse_id(const char *hex, size_t len, uint8_t *id, size_t max)
{
	size_t n = 0;

	for (; 2 * n + 1 < len && n < max; n++) {
		unsigned v;

		if (sscanf(hex + 2 * n, "%2x", &v) != 1)
			return 0;
		id[n] = (uint8_t)v;
	}
	return n;
}

/* "BASE LENGTH BUILD-ID PATH" */
static bool parse_module(const char *text, struct module *m)
{
	unsigned long long base, length;
	char id[129];
	int n = 0;

	*m = (struct module){0};
	if (sscanf(text, "%llx %llx %128s %n", &base, &length, id, &n) != 3 || !n || !text[n])
		return false;
	m->base = base;
	m->length = length;
	m->path = strdup(text + n);
	if (!m->path)
		return false;
	m->name = strrchr(m->path, '/');
	m->name = m->name ? m->name + 1 : m->path;
	m->id_len = strcmp(id, "-") ? parse_id(id, strlen(id), m->id, sizeof(m->id)) : 0;
	return true;
}

/* Another file with the same name has other symbols: worse than none. */
static bool same_build(const struct module *m)
{
	const unsigned char *id;
	GElf_Addr where;
	GElf_Addr bias;
	int n;

	if (!dwfl_module_getelf(m->dwfl, &bias))
		return false;
	n = dwfl_module_build_id(m->dwfl, &id, &where);
	if (!m->id_len)
		return true;
	return n == (int)m->id_len && !memcmp(id, m->id, m->id_len);
}

static void load_modules(struct mz_symbols *s)
{
	dwfl_report_begin(s->dwfl);
	for (size_t i = 0; i < s->count; i++) {
		struct module *m = &s->modules[i];

		m->dwfl = dwfl_report_elf(s->dwfl, m->name, m->path, -1, m->base, false);
	}
	dwfl_report_end(s->dwfl, NULL, NULL);
	for (size_t i = 0; i < s->count; i++) {
		struct module *m = &s->modules[i];

		if (m->dwfl && !same_build(m))
			m->dwfl = NULL;
		s->missing += !m->dwfl;
	}
}

struct mz_symbols *mz_symbols_open(const struct mz_reader *r)
{
	struct mz_symbols *s = calloc(1, sizeof(*s));
	size_t attrs = mz_reader_attrs(r);

	if (!s)
		return NULL;
	s->modules = calloc(attrs ? attrs : 1, sizeof(*s->modules));
	s->dwfl = dwfl_begin(&callbacks);
	if (!s->modules || !s->dwfl) {
		mz_symbols_close(s);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < attrs; i++) {
		const struct mz_attr *a = mz_reader_attr(r, i);

		if (a->type == MZ_ATTR_TEXT && !strncmp(a->key, "module.", 7) &&
		    parse_module(a->data, &s->modules[s->count]))
			s->count++;
	}
	load_modules(s);
	/* C++ names are made readable where the machine has the C++ library */
	s->cxx = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (s->cxx)
		*(void **)&s->demangle = dlsym(s->cxx, "__cxa_demangle");
	return s;
}

void mz_symbols_close(struct mz_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CACHE; i++) {
		for (struct entry *e = s->cache[i], *next; e; e = next) {
			next = e->next;
			free((char *)e->symbol.function);
			free(e);
		}
	}
	for (size_t i = 0; i < s->count; i++)
		free(s->modules[i].path);
	free(s->modules);
	if (s->dwfl)
		dwfl_end(s->dwfl);
	if (s->cxx)
		dlclose(s->cxx);
	free(s);
}

static char *readable(const struct mz_symbols *s, const char *name)
{
	int status = -1;
	char *made = s->demangle && !strncmp(name, "_Z", 2) ? s->demangle(name, NULL, NULL, &status)
							    : NULL;

	return status ? strdup(name) : made;
}

static bool look_up(struct mz_symbols *s, uint64_t ip, struct mz_symbol *out)
{
	const struct module *m = NULL;
	const char *name;
	GElf_Off offset;
	GElf_Sym sym;
	Dwfl_Line *line;

	*out = (struct mz_symbol){0};
	for (size_t i = 0; i < s->count && !m; i++)
		if (ip - s->modules[i].base < s->modules[i].length)
			m = &s->modules[i];
	if (!m)
		return false;
	out->module = m->name;
	out->offset = ip - m->base;
	if (!m->dwfl)
		return true;
	name = dwfl_module_addrinfo(m->dwfl, ip, &offset, &sym, NULL, NULL, NULL);
	if (name)
		out->function = readable(s, name);
	line = dwfl_module_getsrc(m->dwfl, ip);
	if (line)
		out->file = dwfl_lineinfo(line, NULL, &out->line, NULL, NULL, NULL);
	return true;
}

bool mz_symbols_find(struct mz_symbols *s, uint64_t ip, struct mz_symbol *out)
{
	size_t at = (ip * 0x9e3779b97f4a7c15u) >> 52;
	struct entry *e = s->cache[at];

	while (e && e->ip != ip)
		e = e->next;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return false;
		e->ip = ip;
		/* the call is before the address that it returns to */
		e->known = look_up(s, ip - 1, &e->symbol);
		e->next = s->cache[at];
		s->cache[at] = e;
	}
	*out = e->symbol;
	return e->known;
}

unsigned mz_symbols_missing(const struct mz_symbols *s)
{
	return s->missing;
}
