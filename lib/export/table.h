/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables: rows of typed cells, written as CSV, JSON lines, Parquet or SQLite. */
/* tables.c defines the tables (docs/schema.md); each format has a file of its own. */
#ifndef MZ_EXPORT_TABLE_H
#define MZ_EXPORT_TABLE_H

#include "export/export.h"

enum mz_cell_type {
	MZ_CELL_U64,
	MZ_CELL_I64,
	MZ_CELL_HEX,  /* a U64 that people read in hexadecimal: addresses, flags */
	MZ_CELL_TEXT, /* bytes */
};

struct mz_column {
	const char *name;
	enum mz_cell_type type;
	bool optional; /* may be NULL: not known */
};

struct mz_cell {
	bool known;
	uint64_t n; /* of TEXT: its length */
	const char *s;
	uint32_t same; /* TEXT: equal numbers in a column mean equal texts; 0 = unknown */
};

#define MZ_COLUMNS_MAX 32

/* state: the writer's own, from open to close */
struct mz_table_ops {
	bool many; /* more than one table in a file */
	/* Begins a file; NULL with err set. */
	void *(*open)(struct mz_output *out, struct mz_error *err);
	/* Begins a table of it; columns stay until close. Its number, or -errno. */
	int (*begin)(void *state, const char *name, const struct mz_column *columns, size_t n,
		     struct mz_error *err);
	int (*row)(void *state, int table, const struct mz_cell *cells, struct mz_error *err);
	/* Ends the file; NULL = there is nothing to write after the last row. */
	int (*end)(void *state, struct mz_error *err);
	void (*close)(void *state);
};

/* The tables, by name: events, blocks, sites, frames. */
enum mz_table_name { MZ_TABLE_EVENTS, MZ_TABLE_BLOCKS, MZ_TABLE_SITES, MZ_TABLE_FRAMES, MZ_TABLES };
extern const char *const mz_table_names[MZ_TABLES + 1];

/* Writes the tables of a recording. s is NULL if there are no events, only a profile. A format that
 * is not "many" gets the table that is named. */
int mz_export_tables(const struct mz_table_ops *ops, struct mz_events *s, struct mz_profile *p,
		     enum mz_table_name which, struct mz_output *out, struct mz_error *err);

#endif
