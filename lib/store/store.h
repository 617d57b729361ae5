/* SPDX-License-Identifier: BSD-2-Clause */
/* A store of many recordings: one schema, and two engines that hold it. */
/*
 * A file is an SQLite database; clickhouse://HOST[:PORT][,HOST...]/DB are shards, each a ClickHouse
 * server.
 *
 * A recording is sent as an attempt, which has a random number. Its rows carry that number,
 * and they count only once the row of the recording itself names it: that row comes last.
 * What a sender that died has left behind is therefore never seen, and a recording that is
 * sent again never counts twice.
 */
#ifndef MZ_STORE_STORE_H
#define MZ_STORE_STORE_H

#include <memorizer.h>

#include "base/buf.h"

#define MZ_STORE_VERSION 1
#define MZ_STORE_DIGEST	 32 /* characters */
#define MZ_STORE_SHARDS	 64

enum mz_store_table {
	MZ_STORE_FRAME,	   /* names of code, by their hash */
	MZ_STORE_STACK,	   /* frames of a stack, by their hash */
	MZ_STORE_PROFILE,  /* values of a stack in a recording */
	MZ_STORE_SITE,	   /* the same by call site */
	MZ_STORE_TIMELINE, /* live bytes over time */
	MZ_STORE_EDGE,	   /* KMAPs: which code touches which objects */
	MZ_STORE_RECORDING,
	MZ_STORE_TABLES
};

enum mz_store_type { MZ_STORE_U64, MZ_STORE_DAY, MZ_STORE_TEXT };

/* Where the value of a column comes from: each row has its own, or all rows of an attempt
 * have the same. */
enum mz_store_from { MZ_STORE_OWN, MZ_STORE_PROGRAM, MZ_STORE_OF_DAY, MZ_STORE_ATTEMPT };

struct mz_store_column {
	const char *name;
	enum mz_store_type type;
	enum mz_store_from from;
	bool fleet; /* ClickHouse only: its tables are sorted by it */
};

#define MZ_STORE_COLUMNS 40

struct mz_store_schema {
	const char *name;
	const struct mz_store_column *columns;
	size_t n;
	const char *engine; /* of ClickHouse */
	const char *key;    /* of SQLite */
};
extern const struct mz_store_schema mz_store_schema[MZ_STORE_TABLES];

/* Rows by column: numbers of 8 bytes each, texts with their length (LEB128) before them.
 * Columns that are not MZ_STORE_OWN are empty. */
struct mz_store_rows {
	size_t n;
	struct mz_buf column[MZ_STORE_COLUMNS];
};

/* What the rows of an attempt share. */
struct mz_store_attempt {
	const char *program;
	uint16_t day; /* since 1970 */
	uint64_t number;
};

struct mz_pair_index;
struct mz_store;

/* A row of an answer: texts, each ended by a NUL. 0, or -errno to stop. */
typedef int mz_store_row(void *arg, char *const *cells, size_t n);

struct mz_store_ops {
	const char *find;  /* the function that finds a text in another */
	const char *final; /* behind the name of a table whose rows may be there twice */
	bool backslash;	   /* escapes in texts */
	int (*open)(struct mz_store *s, bool create, struct mz_error *err);
	void (*close)(struct mz_store *s);
	/* A transaction, where there is one; attempt: its number is set. */
	int (*begin)(struct mz_store *s, unsigned shard, struct mz_store_attempt *a,
		     struct mz_error *err);
	int (*put)(struct mz_store *s, unsigned shard, enum mz_store_table table,
		   const struct mz_store_attempt *a, const struct mz_store_rows *rows,
		   struct mz_error *err);
	int (*end)(struct mz_store *s, unsigned shard, bool commit, struct mz_error *err);
	int (*ask)(struct mz_store *s, unsigned shard, const char *sql, mz_store_row *row,
		   void *arg, struct mz_error *err);
	/* Changes something. */
	int (*run)(struct mz_store *s, unsigned shard, const char *sql, struct mz_error *err);
};

struct mz_store {
	const char *name;
	const struct mz_store_ops *ops;
	unsigned shards;
	uint64_t away; /* shards that did not answer when it was opened, a bit each */
	void *state;   /* the engine's */
	struct mz_store_credentials *credentials; /* NULL = none */
	struct mz_pair_index
		*known[2]; /* frames and stacks that are there, by shard; may be NULL */
};

struct mz_store_credentials {
	char user[128], password[256];
};

/* create: it may be new. 0 or -errno with err set; close it in both cases. If only some shards
 * are away, the others are open: see away. credentials: a file with the user and the password
 * on two lines, or NULL: by the environment. */
int mz_store_open(struct mz_store *s, const char *name, const char *credentials, bool create,
		  struct mz_error *err);
void mz_store_close(struct mz_store *s);
/* A file that others can read is an error. */
int mz_store_read_credentials(struct mz_store_credentials *c, const char *path,
			      struct mz_error *err);
bool mz_store_is_address(const char *name);

/* Whether a text is KEY=VALUE in one line. */
bool mz_store_is_label(const char *text);

extern const struct mz_store_ops mz_store_sqlite, mz_store_clickhouse;

/* What stopped the rows of an answer: no memory, or unexpected columns. */
int mz_store_row_failed(const struct mz_store *s, int code, struct mz_error *err);

/* All shards in turn. $R in the text is the table of recordings, each of them once. */
int mz_store_ask(struct mz_store *s, const char *sql, mz_store_row *row, void *arg,
		 struct mz_error *err);
int mz_store_ask_shard(struct mz_store *s, unsigned shard, const char *sql, mz_store_row *row,
		       void *arg, struct mz_error *err);

/* A text and a number as they are written in SQL. */
void mz_store_quote(const struct mz_store *s, struct mz_buf *b, const char *text, size_t n);
void mz_store_id(const struct mz_store *s, struct mz_buf *b, uint64_t id);

/* CREATE TABLE of both engines. */
void mz_store_create(struct mz_buf *b, enum mz_store_table table, bool fleet);
/* Whether a column is in the tables of the engine. */
static inline bool mz_store_has(const struct mz_store_column *c, bool fleet)
{
	return fleet || !c->fleet;
}

/* The shard of a recording, by its digest. */
unsigned mz_store_shard(const struct mz_store *s, const char *digest);

/* Checks what a store says about itself: version and shard. 0 or -errno with err set. */
int mz_store_check_version(const char *name, const char *version, struct mz_error *err);

#endif
