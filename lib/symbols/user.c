// SPDX-License-Identifier: BSD-2-Clause
/* Find the files that a traced program was made of: those that the trace names, if they are
 * still the same (build ID), or those found by build ID. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular.h"
#include "symbols/private.h"
#include "trace/reader.h"

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

/* Another file with the same name has other symbols: worse than none. */
static bool same_build(const struct mz_symbols_module *m)
{
	uint8_t id[64];
	size_t n = mz_image_id(m->path, id);

	if (!m->id_len) {
		int fd = mz_open_regular(m->path, NULL);

		if (fd >= 0)
			close(fd);
		return fd >= 0;
	}
	return n == m->id_len && !memcmp(id, m->id, n);
}

/* Take the file in the folder that was the program's root, if it is the same there. */
static bool look_in(const char *root, struct mz_symbols_module *m)
{
	char *inside, *outside = m->path;

	if (!root)
		return true;
	if (asprintf(&inside, "%s/%s", root, outside) < 0)
		return false;
	m->path = inside;
	if (!same_build(m)) {
		m->path = outside;
		outside = inside;
	}
	free(outside);
	m->name = strrchr(m->path, '/');
	m->name = m->name ? m->name + 1 : m->path;
	return true;
}

/* "BASE LENGTH BUILD-ID PATH" */
static bool add_module(struct mz_symbols *s, const char *root, const char *text)
{
	struct mz_symbols_module *m;
	unsigned long long base, length;
	char id[129];
	int n = 0;

	if (sscanf(text, "%llx %llx %128s %n", &base, &length, id, &n) != 3 || !n || !text[n])
		return true;
	m = mz_symbols_add(s, text + n);
	if (!m)
		return false;
	m->base = base;
	m->length = length;
	m->id_len = strcmp(id, "-") ? parse_id(id, strlen(id), m->id, sizeof(m->id)) : 0;
	if (!look_in(root, m))
		return false;
	m->gone = !same_build(m);
	s->missing += m->gone;
	return true;
}

/* Names that were kept in a container: names.0, names.1, ... What cannot be parsed is
 * not worth more than the address. */
static bool add_names(struct mz_symbols *s, const struct mz_attr *a)
{
	if (!s->own_names)
		s->own_names = mz_names_new();
	s->names = s->own_names;
	return s->names && mz_names_parse(s->own_names, a->data, a->size) != -ENOMEM;
}

struct mz_symbols *mz_symbols_open(const struct mz_reader *r)
{
	struct mz_symbols *s = mz_symbols_new();
	size_t attrs = mz_reader_attrs(r);

	for (size_t i = 0; s && i < attrs; i++) {
		const struct mz_attr *a = mz_reader_attr(r, i);

		if (a->type == MZ_ATTR_BYTES && !strncmp(a->key, "names.", 6) && add_names(s, a))
			continue;
		if (a->type != MZ_ATTR_TEXT || strncmp(a->key, "module.", 7) ||
		    add_module(s, r->root, a->data))
			continue;
		mz_symbols_close(s);
		return NULL;
	}
	if (s && r->names)
		s->names = r->names;
	return s;
}
