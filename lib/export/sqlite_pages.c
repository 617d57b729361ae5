// SPDX-License-Identifier: BSD-2-Clause
/* Fill the pages of an SQLite database with rows that come in order. */
#include "export/sqlite_pages.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define HEADER	   100	/* bytes of the first page */
#define LEAF	   0x0d /* types of pages */
#define INTERIOR   0x05 /* of a table */
#define LEAF_HEAD  8
#define INNER_HEAD 12
#define MAX_LOCAL  (MZ_SQLITE_PAGE - 35) /* bytes of a record that a leaf may hold */
#define MIN_LOCAL  ((MZ_SQLITE_PAGE - 12) * 32 / 255 - 23)
/* The page at this byte is used for locks and holds no data. */
#define LOCK_PAGE  ((1u << 30) / MZ_SQLITE_PAGE + 1)

/* A page that is being filled: pointers to cells grow from its front, cells from its end. */
struct mz_sqlite_level {
	uint8_t page[MZ_SQLITE_PAGE];
	unsigned head;	/* offset of the page's own header */
	unsigned front; /* behind the pointers */
	unsigned back;	/* the last cell */
	unsigned cells;
	uint64_t last; /* leaf: number of the last row */
	/* above the leaves: the last child of a page is not a cell, so the newest one waits */
	uint32_t child, before; /* 0 = none; before is the one of the last cell */
	uint64_t key, key_before;
	unsigned size_before; /* of the last cell */
};

static void put16(uint8_t *to, unsigned v)
{
	to[0] = (uint8_t)(v >> 8);
	to[1] = (uint8_t)v;
}

static void put32(uint8_t *to, uint32_t v)
{
	put16(to, v >> 16);
	put16(to + 2, v & 0xffff);
}

/* ---- pages ---------------------------------------------------------------- */

static uint32_t after(uint32_t page)
{
	return page + 1 == LOCK_PAGE ? page + 2 : page + 1;
}

/* Its number will be after(p->n). */
static int put_page(struct mz_sqlite_pages *p, const uint8_t *page, struct mz_error *err)
{
	static const uint8_t nothing[MZ_SQLITE_PAGE];
	int ret = 0;

	if (p->n >= UINT32_MAX - 2)
		return mz_fail(err, EFBIG, "%s: more pages than a database can have",
			       p->out->file.path);
	if (p->n + 1 == LOCK_PAGE)
		ret = mz_output_add(p->out, nothing, sizeof(nothing), err);
	p->n = after(p->n);
	return ret ? ret : mz_output_add(p->out, page, MZ_SQLITE_PAGE, err);
}

int mz_sqlite_pages_begin(struct mz_sqlite_pages *p, struct mz_output *out, struct mz_error *err)
{
	static const uint8_t later[MZ_SQLITE_PAGE];

	*p = (struct mz_sqlite_pages){.out = out};
	return put_page(p, later, err);
}

static void empty(struct mz_sqlite_level *l, bool leaf)
{
	memset(l->page, 0, sizeof(l->page));
	l->page[l->head] = leaf ? LEAF : INTERIOR;
	l->front = l->head + (leaf ? LEAF_HEAD : INNER_HEAD);
	l->back = MZ_SQLITE_PAGE;
	l->cells = 0;
}

/* The level, made if it is new; NULL = no memory. */
static struct mz_sqlite_level *level(struct mz_sqlite_tree *t, unsigned i)
{
	struct mz_sqlite_level *l;

	if (i < t->n)
		return t->level[i];
	l = i < MZ_SQLITE_LEVELS ? calloc(1, sizeof(*l)) : NULL;
	if (!l)
		return NULL;
	l->head = t->first ? HEADER : 0;
	empty(l, !i);
	t->level[t->n++] = l;
	return l;
}

void mz_sqlite_tree_free(struct mz_sqlite_tree *t)
{
	while (t->n)
		free(t->level[--t->n]);
}

static bool fits(const struct mz_sqlite_level *l, unsigned size)
{
	return l->back - l->front >= size + 2;
}

/* Where the next cell goes; the caller has checked that it fits. */
static uint8_t *new_cell(struct mz_sqlite_level *l, unsigned size)
{
	l->back -= size;
	put16(l->page + l->front, l->back);
	l->front += 2;
	l->cells++;
	return l->page + l->back;
}

static void finish(struct mz_sqlite_level *l)
{
	put16(l->page + l->head + 3, l->cells);
	put16(l->page + l->head + 5, l->back);
}

/* ---- above the leaves ------------------------------------------------------- */

/* End the page of a level, which is full or the last one: right is its last child. */
static int put_inner(struct mz_sqlite_pages *p, struct mz_sqlite_level *l, uint32_t right,
		     struct mz_error *err)
{
	put32(l->page + l->head + 8, right);
	finish(l);
	return put_page(p, l->page, err);
}

static int add_child(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, unsigned at,
		     uint32_t child, uint64_t key, struct mz_error *err);

/* A page with one child is not allowed. The last cell of a full page therefore becomes its last
 * child, and the next page begins with two children: the one that waited, and the new one. */
static int put_full(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, unsigned at,
		    struct mz_error *err)
{
	struct mz_sqlite_level *l = t->level[at];
	int ret;

	l->cells--;
	l->back += l->size_before;
	ret = put_inner(p, l, l->before, err);
	empty(l, false);
	return ret ? ret : add_child(p, t, at + 1, p->n, l->key_before, err);
}

/* key: the last row below the child. */
static int add_child(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, unsigned at,
		     uint32_t child, uint64_t key, struct mz_error *err)
{
	struct mz_sqlite_level *l = level(t, at);
	uint8_t number[9], *cell;
	int ret = 0;

	if (!l)
		return mz_fail_memory(err);
	if (l->child) {
		unsigned n = mz_sqlite_varint(number, l->key), size = 4 + n;

		if (!fits(l, size))
			ret = put_full(p, t, at, err);
		cell = new_cell(l, size);
		put32(cell, l->child);
		memcpy(cell + 4, number, n);
		l->before = l->child;
		l->key_before = l->key;
		l->size_before = size;
	}
	l->child = child;
	l->key = key;
	return ret;
}

/* ---- rows ------------------------------------------------------------------- */

/* How much of a record is in the leaf; the rest fills pages of its own. */
static size_t local_part(size_t size)
{
	size_t k;

	if (size <= MAX_LOCAL)
		return size;
	k = MIN_LOCAL + (size - MIN_LOCAL) % (MZ_SQLITE_PAGE - 4);
	return k <= MAX_LOCAL ? k : MIN_LOCAL;
}

/* The rest of a long record: pages, each of which begins with the number of the next. */
static int put_overflow(struct mz_sqlite_pages *p, const uint8_t *data, size_t n,
			struct mz_error *err)
{
	uint8_t page[MZ_SQLITE_PAGE];
	int ret = 0;

	while (n && !ret) {
		size_t part = n < MZ_SQLITE_PAGE - 4 ? n : MZ_SQLITE_PAGE - 4;

		put32(page, n > part ? after(after(p->n)) : 0);
		memcpy(page + 4, data, part);
		memset(page + 4 + part, 0, MZ_SQLITE_PAGE - 4 - part);
		ret = put_page(p, page, err);
		data += part;
		n -= part;
	}
	return ret;
}

static int put_leaf(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, struct mz_error *err)
{
	struct mz_sqlite_level *l = t->level[0];
	int ret;

	finish(l);
	ret = put_page(p, l->page, err);
	empty(l, true);
	return ret ? ret : add_child(p, t, 1, p->n, l->last, err);
}

int mz_sqlite_tree_add(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, uint64_t number,
		       const void *record, size_t size, struct mz_error *err)
{
	struct mz_sqlite_level *l = level(t, 0);
	size_t local = local_part(size);
	uint8_t head[18], *cell;
	unsigned n, whole;
	int ret = 0;

	if (!l)
		return mz_fail_memory(err);
	n = mz_sqlite_varint(head, size);
	n += mz_sqlite_varint(head + n, number);
	whole = n + (unsigned)local + (local < size ? 4 : 0);
	/* the schema cannot continue in another page: its root is the file's first page */
	if (!fits(l, whole))
		ret = t->first ? mz_fail(err, EFBIG, "%s: the schema is longer than a page",
					 p->out->file.path)
			       : put_leaf(p, t, err);
	if (ret)
		return ret;
	cell = new_cell(l, whole);
	memcpy(cell, head, n);
	memcpy(cell + n, record, local);
	l->last = number;
	if (local == size)
		return 0;
	put32(cell + n + local, after(p->n));
	return put_overflow(p, (const uint8_t *)record + local, size - local, err);
}

int mz_sqlite_tree_end(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, uint32_t *root,
		       struct mz_error *err)
{
	struct mz_sqlite_level *l = level(t, 0);
	uint64_t key;
	int ret;

	if (!l)
		return mz_fail_memory(err);
	key = l->last;
	finish(l);
	ret = put_page(p, l->page, err);
	/* a level may add one above it */
	for (unsigned i = 1; i < t->n && !ret; i++) {
		ret = add_child(p, t, i, p->n, key, err);
		key = t->level[i]->key;
		if (!ret)
			ret = put_inner(p, t->level[i], t->level[i]->child, err);
	}
	*root = p->n;
	return ret;
}

/* ---- the first page --------------------------------------------------------- */

/* Fields that are not set are 0: no pages are free, nothing is reserved. */
static void put_header(uint8_t *to, uint32_t pages, uint32_t application)
{
	memcpy(to, "SQLite format 3", 16);
	put16(to + 16, MZ_SQLITE_PAGE);
	to[18] = to[19] = 1; /* a journal, not a log, for writers and for readers */
	to[21] = 64;	     /* fractions of a page, fixed by the format */
	to[22] = to[23] = 32;
	put32(to + 24, 1); /* changes of the file */
	put32(to + 28, pages);
	put32(to + 40, 1); /* changes of the schema */
	put32(to + 44, 4); /* the format of the schema */
	put32(to + 56, 1); /* UTF-8 */
	put32(to + 68, application);
	put32(to + 92, 1); /* the number of pages is valid for this change */
	put32(to + 96, SQLITE_VERSION_NUMBER);
}

int mz_sqlite_pages_end(struct mz_sqlite_pages *p, struct mz_sqlite_tree *schema,
			uint32_t application, struct mz_error *err)
{
	struct mz_sqlite_level *l = level(schema, 0);
	int ret;

	if (!l)
		return mz_fail_memory(err);
	finish(l);
	put_header(l->page, p->n, application);
	ret = mz_output_flush(p->out, err);
	return ret ? ret : mz_atomic_file_replace(&p->out->file, 0, l->page, sizeof(l->page), err);
}
