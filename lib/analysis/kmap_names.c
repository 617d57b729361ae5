// SPDX-License-Identifier: BSD-2-Clause
/* Name the places, classes and processes of a KMAP. */
#include <stdio.h>
#include <string.h>

#include "analysis/kmap.h"
#include "base/error.h"

/* Names come from the map, and a process can choose its own: what a terminal would obey is
 * escaped. */
static char *text(const struct mz_kmap_model *m, uint32_t id, char *buf, size_t size)
{
	const char *s = mz_kmap_string(m, id);

	return mz_printable(buf, size, s, strlen(s));
}

/* Addresses with a meaning of their own. */
static const char *special(uint64_t ip)
{
	switch (ip) {
	case 0: return "(none)";
	case MZ_KMAP_OVERLAID: return "(missed free)";
	case MZ_KMAP_NESTED: return "(inside an allocator)";
	case MZ_KMAP_CTOR: return "(constructor)";
	case MZ_KMAP_NOT_FOUND: return "(not found)";
	default: return ip < MZ_KMAP_MADE_UP ? "(found at an access)" : NULL;
	}
}

static void site_name(const struct mz_kmap_model *m, const struct mz_kmap_place *p, char *buf,
		      size_t size)
{
	const char *file = mz_kmap_string(m, p->file), *base = strrchr(file, '/');
	char name[160], where[120], module[80] = "";

	text(m, p->function, name, sizeof(name));
	file = base ? base + 1 : file;
	mz_printable(where, sizeof(where), file, strlen(file));
	if (p->module)
		text(m, p->module, module, sizeof(module));
	snprintf(buf, size, p->file ? "%s+0x%x%s%s%s (%s:%u)" : "%s+0x%x%s%s%s", name, p->offset,
		 p->module ? " [" : "", module, p->module ? "]" : "", where, p->line);
}

/* Falls back from folder to module to unknown at the coarse levels, and to the address at the
 * fine ones, so that every row has a name. */
char *mz_kmap_place_name(const struct mz_kmap_model *m, uint32_t place, enum mz_kmap_by by,
			 char *buf, size_t size)
{
	const struct mz_kmap_place *p = &m->places[place];
	const char *known = special(p->ip);

	if (known)
		snprintf(buf, size, "%s", known);
	else if (by == MZ_KMAP_BY_DIR && p->dir)
		text(m, p->dir, buf, size);
	else if (by == MZ_KMAP_BY_FILE && p->home)
		text(m, p->home, buf, size);
	else if (by <= MZ_KMAP_BY_FILE && p->module)
		snprintf(buf, size, "[%s]", text(m, p->module, (char[80]){0}, 80));
	else if (by <= MZ_KMAP_BY_FILE)
		snprintf(buf, size, "(unknown)");
	else if (by == MZ_KMAP_BY_SITE && p->function)
		site_name(m, p, buf, size);
	else if (p->function)
		text(m, p->function, buf, size);
	else
		snprintf(buf, size, "0x%llx", (unsigned long long)p->ip);
	return buf;
}

/* A class is best known by its cache, then by its type, then by the code that allocates it; a
 * variable has a name of its own. */
char *mz_kmap_class_name(const struct mz_kmap_model *m, uint32_t class, enum mz_kmap_by by,
			 char *buf, size_t size)
{
	const struct mz_kmap_class *c = &m->classes[class];

	if (by == MZ_KMAP_BY_CACHE && c->cache)
		return text(m, c->cache, buf, size);
	if (c->global && by >= MZ_KMAP_BY_FUNCTION) {
		if (c->name)
			return text(m, c->name, buf, size);
		snprintf(buf, size, "0x%llx", (unsigned long long)c->first_va);
		return buf;
	}
	if (c->global && by == MZ_KMAP_BY_DIR && c->dir)
		return text(m, c->dir, buf, size);
	if (c->catch_all) {
		snprintf(buf, size, "(no object: %s)", text(m, c->type, (char[80]){0}, 80));
		return buf;
	}
	if (c->global) {
		snprintf(buf, size, "(global variables)");
		return buf;
	}
	if (by == MZ_KMAP_BY_CACHE && c->type)
		return text(m, c->type, buf, size);
	return mz_kmap_place_name(m, c->place, by == MZ_KMAP_BY_CACHE ? MZ_KMAP_BY_FUNCTION : by,
				  buf, size);
}

char *mz_kmap_pid_name(const struct mz_kmap_model *m, int32_t pid, char *buf, size_t size)
{
	const char *comm = pid > 0 ? mz_kmap_comm(m, pid) : "";
	char name[80];

	if (pid < 0)
		snprintf(buf, size, "(unknown)");
	else if (!pid)
		snprintf(buf, size, "(interrupt or idle)");
	else if (*comm)
		snprintf(buf, size, "%s (%d)", mz_printable(name, sizeof(name), comm, strlen(comm)),
			 pid);
	else
		snprintf(buf, size, "%d", pid);
	return buf;
}
