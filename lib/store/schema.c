// SPDX-License-Identifier: BSD-2-Clause
/* Define the tables of a store, and the statements that make them. */
#include <string.h>

#include "store/store.h"

/* A column is a number or a text of the row itself, or of the recording that the row belongs to.
 * `fleet`: only ClickHouse has it. */
#define NUMBER(name)                                                                               \
	{                                                                                          \
		name, MZ_STORE_U64, MZ_STORE_OWN, false                                            \
	}
#define TEXT(name)                                                                                 \
	{                                                                                          \
		name, MZ_STORE_TEXT, MZ_STORE_OWN, false                                           \
	}
#define PROGRAM(fleet)                                                                             \
	{                                                                                          \
		"program", MZ_STORE_TEXT, MZ_STORE_PROGRAM, fleet                                  \
	}
#define DAY(fleet)                                                                                 \
	{                                                                                          \
		"day", MZ_STORE_DAY, MZ_STORE_OF_DAY, fleet                                        \
	}
#define RECORDING                                                                                  \
	{                                                                                          \
		"recording", MZ_STORE_U64, MZ_STORE_ATTEMPT, false                                 \
	}

/* The order of struct mz_heap_sum's values in all tables. */
#define VALUES                                                                                     \
	NUMBER("blocks"), NUMBER("bytes"), NUMBER("peak_blocks"), NUMBER("peak_bytes"),            \
		NUMBER("max_blocks"), NUMBER("max_bytes"), NUMBER("live_blocks"),                  \
		NUMBER("live_bytes"), NUMBER("temporary"), NUMBER("waste"), NUMBER("peak_waste"),  \
		NUMBER("lifetime"), NUMBER("reads"), NUMBER("writes")

/*
 * Names of code. Their key is the hash of function and file, so that every sender gives the
 * same name the same number without asking, and a line that moved is still the same frame.
 */
static const struct mz_store_column frame[] = {NUMBER("frame"), TEXT("function"), TEXT("file"),
					       TEXT("module"), NUMBER("line")};

/*
 * The frames of a stack are one value of bytes: a stack is read whole or not at all, and one
 * row per frame would take most of the space.
 */
static const struct mz_store_column stack[] = {NUMBER("stack"), NUMBER("site"), TEXT("frames")};

/*
 * The largest table. Program and day are there for ClickHouse alone, whose tables are sorted
 * by them: a question about one program reads that program's part.
 */
static const struct mz_store_column profile[] = {
	PROGRAM(true),	 {"site", MZ_STORE_U64, MZ_STORE_OWN, true},
	NUMBER("stack"), DAY(true),
	RECORDING,	 VALUES};

/*
 * Sums by call site could be made from the stacks; they are kept because nearly every question
 * is about sites, of which there are far fewer than stacks.
 */
static const struct mz_store_column site[] = {PROGRAM(true), NUMBER("site"), DAY(true), RECORDING,
					      VALUES};

/* Times are relative to the first event, so that runs can be laid over each other. */
static const struct mz_store_column timeline[] = {
	PROGRAM(true),	       DAY(true),      RECORDING, NUMBER("t"), NUMBER("live_bytes"),
	NUMBER("live_blocks"), NUMBER("waste")};

/*
 * Edges of a KMAP. A row without a member or an accessor is the object by itself: what it is
 * and how much of it there was, also if nothing touched it.
 */
static const struct mz_store_column edge[] = {
	PROGRAM(true), NUMBER("object"), NUMBER("member"), NUMBER("accessor"), DAY(true),
	RECORDING,     NUMBER("reads"),	 NUMBER("writes"), NUMBER("objects"),  NUMBER("bytes")};

/*
 * One row per recording, written last. "recording" is the number of the attempt that
 * succeeded: the rows of all other attempts with this digest do not count.
 */
static const struct mz_store_column recording[] = {
	TEXT("digest"),	  RECORDING,	      PROGRAM(false),  DAY(false),
	TEXT("revision"), TEXT("host"),	      TEXT("kind"),    TEXT("source"),
	TEXT("path"),	  TEXT("labels"),     TEXT("clock"),   NUMBER("time"),
	NUMBER("stored"), NUMBER("duration"), NUMBER("known"), NUMBER("events"),
	NUMBER("lost"),	  NUMBER("rows"),     VALUES};

/*
 * ReplacingMergeTree where the same row may be sent twice: names by several senders at once, a
 * recording by two senders that did not see each other. The big tables need no such thing,
 * because their rows carry the number of an attempt.
 */
#define TABLE(id, t, engine, key) [id] = {#t, t, sizeof(t) / sizeof(*t), engine, key}

const struct mz_store_schema mz_store_schema[MZ_STORE_TABLES] = {
	TABLE(MZ_STORE_FRAME, frame, "ReplacingMergeTree() ORDER BY frame", "PRIMARY KEY (frame)"),
	TABLE(MZ_STORE_STACK, stack, "ReplacingMergeTree() ORDER BY stack", "PRIMARY KEY (stack)"),
	TABLE(MZ_STORE_PROFILE, profile,
	      "MergeTree() PARTITION BY toYYYYMM(day) ORDER BY (program, site, stack, day, "
	      "recording)",
	      "PRIMARY KEY (recording, stack)"),
	TABLE(MZ_STORE_SITE, site,
	      "MergeTree() PARTITION BY toYYYYMM(day) ORDER BY (program, site, day, recording)",
	      "PRIMARY KEY (site, recording)"),
	TABLE(MZ_STORE_TIMELINE, timeline,
	      "MergeTree() PARTITION BY toYYYYMM(day) ORDER BY (program, recording, t)",
	      "PRIMARY KEY (recording, t)"),
	TABLE(MZ_STORE_EDGE, edge,
	      "MergeTree() PARTITION BY toYYYYMM(day) ORDER BY (program, object, member, accessor, "
	      "day, recording)",
	      "PRIMARY KEY (recording, object, member, accessor)"),
	TABLE(MZ_STORE_RECORDING, recording,
	      "ReplacingMergeTree(stored) ORDER BY (program, digest)", "PRIMARY KEY (digest)"),
};

/*
 * SQLite without row numbers: the key is the table, which saves one tree per table. All columns
 * are NOT NULL there, so that a missing value cannot be confused with 0 in a sum.
 */
void mz_store_create(struct mz_buf *b, enum mz_store_table table, bool fleet)
{
	static const char *const types[2][3] = {{"INTEGER", "INTEGER", "TEXT"},
						{"UInt64", "Date", "String"}};
	const struct mz_store_schema *t = &mz_store_schema[table];
	bool first = true;

	mz_buf_printf(b, "CREATE TABLE IF NOT EXISTS %s (", t->name);
	for (size_t i = 0; i < t->n; i++) {
		if (!mz_store_has(&t->columns[i], fleet))
			continue;
		mz_buf_printf(b, "%s%s %s%s", first ? "" : ", ", t->columns[i].name,
			      types[fleet][t->columns[i].type], fleet ? "" : " NOT NULL");
		first = false;
	}
	if (fleet)
		mz_buf_printf(b, ") ENGINE = %s", t->engine);
	else
		mz_buf_printf(b, ", %s) WITHOUT ROWID", t->key);
	mz_buf_add(b, "", 1);
}
