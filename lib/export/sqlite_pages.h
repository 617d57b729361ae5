/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of an SQLite database (https://www.sqlite.org/fileformat2.html). */
/*
 * The rows of a table come in the order of their numbers, so that each page is written once and
 * none is read: rows fill leaves, leaves fill the pages above them. Tables may grow in turns.
 */
#ifndef MZ_EXPORT_SQLITE_PAGES_H
#define MZ_EXPORT_SQLITE_PAGES_H

#include "base/output.h"

#define MZ_SQLITE_PAGE	 4096u /* SQLite's own choice */
#define MZ_SQLITE_LEVELS 8     /* of a tree; 2^32 pages have 5 */

struct mz_sqlite_pages {
	struct mz_output *out;
	uint32_t n; /* written so far; the first has number 1 */
};

struct mz_sqlite_tree {
	struct mz_sqlite_level *level[MZ_SQLITE_LEVELS]; /* the leaf being filled, and above */
	unsigned n;
	bool first; /* its root is the first page, which begins with the header of the file */
};

/* Begins a database and leaves room for the first page. */
int mz_sqlite_pages_begin(struct mz_sqlite_pages *p, struct mz_output *out, struct mz_error *err);
/* Writes the first page: the schema, a tree that is `first` and has not ended, and the header. */
int mz_sqlite_pages_end(struct mz_sqlite_pages *p, struct mz_sqlite_tree *schema,
			uint32_t application, struct mz_error *err);

/* Adds a row. number must be larger than those before; record is as in the file. */
int mz_sqlite_tree_add(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, uint64_t number,
		       const void *record, size_t size, struct mz_error *err);
/* After the last row: the number of the root page. */
int mz_sqlite_tree_end(struct mz_sqlite_pages *p, struct mz_sqlite_tree *t, uint32_t *root,
		       struct mz_error *err);
void mz_sqlite_tree_free(struct mz_sqlite_tree *t);

/* Numbers of the file: seven bits per byte, the highest first; at most 9 bytes. */
static inline unsigned mz_sqlite_varint(uint8_t *to, uint64_t v)
{
	uint8_t bytes[10];
	unsigned n = 0;

	if (v < 128) {
		*to = (uint8_t)v;
		return 1;
	}
	if (v >> 56) { /* the ninth byte has eight bits */
		to[8] = (uint8_t)v;
		v >>= 8;
		for (int i = 7; i >= 0; i--, v >>= 7)
			to[i] = (uint8_t)(v | 0x80);
		return 9;
	}
	for (; v; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[0] &= 0x7f;
	for (unsigned i = 0; i < n; i++)
		to[i] = bytes[n - 1 - i];
	return n;
}

#endif
