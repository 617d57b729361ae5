// SPDX-License-Identifier: BSD-2-Clause
/* Keep the symbol names that a trace carries for its addresses. */
#include "trace/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/pair_index.h"

/* Attributes are read whole; a table of all names in one would be too large to be one. */
#define PART_MAX (1u << 20)
#define MADE	 0x4d5a000000000000u /* no processor has code there */

/* An entry is a list: module, then function, file, line for each. Strings by number. */
struct mz_names {
	struct mz_tables *t;
	struct mz_pair_index addrs; /* the number of an address is that of its entry */
	uint32_t *entries;	    /* stacks of t */
	size_t cap;
	uint64_t made;
};

struct mz_names *mz_names_new(void)
{
	struct mz_names *n = calloc(1, sizeof(*n));

	if (n)
		n->t = mz_tables_new();
	if (n && n->t)
		return n;
	free(n);
	return NULL;
}

void mz_names_free(struct mz_names *n)
{
	if (!n)
		return;
	mz_tables_free(n->t);
	mz_pair_index_deinit(&n->addrs);
	free(n->entries);
	free(n);
}

/* 0 for NULL; false: no memory. */
static bool number(struct mz_names *n, const char *s, uint64_t *id)
{
	*id = s ? mz_tables_string(n->t, s, strlen(s)) : 0;
	return !s || *id;
}

/* The first name of an address stays. A tool that names an address twice has loaded another
 * library there, and cannot say which event is meant. */
int mz_names_add(struct mz_names *n, uint64_t addr, const char *module, const struct mz_name *names,
		 size_t count)
{
	uint64_t list[1 + 3 * MZ_NAMES_INLINED];
	size_t before = n->addrs.count, used = 1;
	uint32_t at, entry;
	bool good = number(n, module, &list[0]);

	for (size_t i = 0; i < count && i < MZ_NAMES_INLINED; i++) {
		good &= number(n, names[i].function, &list[used]);
		good &= number(n, names[i].file, &list[used + 1]);
		list[used + 2] = names[i].line;
		used += 3;
	}
	entry = good ? mz_tables_stack(n->t, list, used) : 0;
	if (!entry)
		return -ENOMEM;
	at = mz_pair_index_put(&n->addrs, addr, 0);
	if (at == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&n->entries, &n->cap, at, sizeof(*n->entries)))
		return -ENOMEM;
	if (n->addrs.count > before)
		n->entries[at] = entry;
	return 0;
}

static size_t get(const struct mz_names *n, uint32_t at, const char **module,
		  struct mz_name names[MZ_NAMES_INLINED])
{
	size_t len, depth;
	const uint64_t *list = mz_tables_get_stack(n->t, n->entries[at], &depth);
	size_t count = list ? (depth - 1) / 3 : 0;

	*module = list ? mz_tables_get_string(n->t, (uint32_t)list[0], &len) : NULL;
	for (size_t i = 0; i < count; i++)
		names[i] = (struct mz_name){
			mz_tables_get_string(n->t, (uint32_t)list[1 + 3 * i], &len),
			mz_tables_get_string(n->t, (uint32_t)list[2 + 3 * i], &len),
			(uint32_t)list[3 + 3 * i],
		};
	return count;
}

size_t mz_names_find(const struct mz_names *n, uint64_t addr, const char **module,
		     struct mz_name names[MZ_NAMES_INLINED])
{
	uint32_t at = mz_pair_index_get(&n->addrs, addr, 0);
	size_t count;

	if (at == MZ_PAIR_INDEX_NONE)
		return 0;
	count = get(n, at, module, names);
	if (!count) { /* the module alone */
		names[0] = (struct mz_name){0};
		count = 1;
	}
	return count;
}

size_t mz_names_count(const struct mz_names *n)
{
	return n->addrs.count;
}

bool mz_names_made(uint64_t addr)
{
	return (addr & 0xffff000000000000u) == MADE;
}

/* Stacks are lists of addresses. A name without an address gets one that cannot be real, so that
 * no other code has to handle the case. */
uint64_t mz_names_make(struct mz_names *n, const char *function, size_t len, const char *module)
{
	uint32_t id = mz_tables_string(n->t, function, len);
	struct mz_name name = {.function = id ? mz_tables_get_string(n->t, id, &len) : NULL};

	if (!name.function || mz_names_add(n, MADE | id, module, &name, 1) < 0)
		return 0;
	return MADE | id;
}

/* ---- as text ------------------------------------------------------------ */

/* The characters that separate fields and lines, and the one that escapes them. */
static void put_field(struct mz_buf *b, const char *s)
{
	for (; s && *s; s++) {
		if (*s == '\t' || *s == '\n' || *s == '\\')
			mz_buf_printf(b, "\\%c", *s == '\t' ? 't' : *s == '\n' ? 'n' : '\\');
		else
			mz_buf_add(b, s, 1);
	}
}

size_t mz_names_text(const struct mz_names *n, size_t from, struct mz_buf *out)
{
	for (; from < n->addrs.count && out->len < PART_MAX && !out->failed; from++) {
		struct mz_name names[MZ_NAMES_INLINED];
		const char *module;
		size_t count = get(n, (uint32_t)from, &module, names);

		mz_buf_printf(out, "%" PRIx64 "\t", n->addrs.keys[from].a);
		put_field(out, module);
		for (size_t i = 0; i < count; i++) {
			mz_buf_str(out, "\t");
			put_field(out, names[i].function);
			mz_buf_str(out, "\t");
			put_field(out, names[i].file);
			mz_buf_printf(out, "\t%u", names[i].line);
		}
		mz_buf_str(out, "\n");
	}
	return from;
}

int mz_names_put(const struct mz_names *n, struct mz_writer *w)
{
	size_t at = 0;
	int ret = 0;

	for (unsigned i = 0; at < mz_names_count(n) && !ret; i++) {
		struct mz_buf b = {0};
		char key[24];

		snprintf(key, sizeof(key), "names.%u", i);
		at = mz_names_text(n, at, &b);
		ret = b.failed ? -ENOMEM : mz_writer_set_bytes(w, key, b.data, b.len);
		mz_buf_free(&b);
	}
	return ret;
}

/* The next field of a line, unescaped into to; false: there is none. */
static bool field(struct mz_cursor *c, struct mz_buf *to)
{
	to->len = 0;
	if (c->p > c->end)
		return false;
	while (c->p < c->end && *c->p != '\t') {
		char byte = *c->p++;

		if (byte == '\\' && c->p < c->end) {
			byte = *c->p++;
			byte = byte == 't' ? '\t' : byte == 'n' ? '\n' : byte;
		}
		if (byte)
			mz_buf_add(to, &byte, 1);
	}
	c->p++;
	mz_buf_add(to, "", 1);
	to->len--;
	return !to->failed;
}

/* The buffers are the caller's, so that a table of a million names does not allocate for each. */
static int parse_line(struct mz_names *n, struct mz_cursor c, struct mz_buf f[])
{
	struct mz_name names[MZ_NAMES_INLINED];
	uint64_t addr, line;
	size_t count = 0, at = 2;

	if (!field(&c, &f[0]) ||
	    !mz_cursor_whole_hex((struct mz_cursor){f[0].data, f[0].data + f[0].len}, &addr))
		return -EINVAL;
	if (!field(&c, &f[1]))
		return -EINVAL;
	while (c.p <= c.end && count < MZ_NAMES_INLINED) {
		if (!field(&c, &f[at]) || !field(&c, &f[at + 1]) || !field(&c, &f[0]) ||
		    !mz_cursor_whole_u64((struct mz_cursor){f[0].data, f[0].data + f[0].len},
					 &line) ||
		    line > UINT32_MAX)
			return -EINVAL;
		names[count++] =
			(struct mz_name){f[at].len ? f[at].data : NULL,
					 f[at + 1].len ? f[at + 1].data : NULL, (uint32_t)line};
		at += 2;
	}
	return mz_names_add(n, addr, f[1].len ? f[1].data : NULL, names, count);
}

/* Adds to what is known: the parts of a table are parsed one by one. */
int mz_names_parse(struct mz_names *n, const char *text, size_t len)
{
	struct mz_buf f[2 + 2 * MZ_NAMES_INLINED] = {0};
	const char *end = len ? text + len : text;
	int ret = 0;

	while (text < end && !ret) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));

		nl = nl ? nl : end;
		ret = parse_line(n, (struct mz_cursor){text, nl}, f);
		text = nl + 1;
	}
	for (size_t i = 0; i < sizeof(f) / sizeof(*f); i++)
		mz_buf_free(&f[i]);
	return ret;
}
