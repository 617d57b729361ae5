/* SPDX-License-Identifier: BSD-2-Clause */
/* What every format's reader has in common; the format adds its ops. */
#ifndef MZ_TRACE_READER_H
#define MZ_TRACE_READER_H

#include "base/input.h"
#include "trace/live.h"
#include "trace/names.h"

/* The most events of one call of ops->read. */
#define MZ_BATCH 512

struct mz_reader_ops {
	enum mz_format format;
	bool resolved; /* its events come with their objects */
	bool lines;    /* places are lines, not bytes */
	/* Sets up r->state from the start of r->in; 0 or -errno. May be NULL. */
	int (*open)(struct mz_reader *r);
	/*
	 * Up to max (at most MZ_BATCH) events: how many, 0 at the end, -errno with
	 * r->error set. Events before an error are delivered first. Fills
	 * r->places, and r->fields.
	 */
	long (*read)(struct mz_reader *r, struct mz_event *ev, size_t max);
	/* Frees r->state, after a failed open too. May be NULL. */
	void (*close)(struct mz_reader *r);
};

struct mz_attrs;

struct mz_reader {
	const struct mz_reader_ops *ops;
	struct mz_input in;
	struct mz_error error;
	struct mz_error refused; /* why a request was refused; reading may continue */
	struct mz_tables *tables;
	struct mz_live live;	   /* for formats that name blocks by address */
	uint64_t places[MZ_BATCH]; /* line or byte offset of each event last read */
	uint64_t orders[MZ_BATCH]; /* if ordered: the events' places among all files' */
	bool ordered;
	uint64_t line; /* text: lines read so far */
	uint64_t junk; /* text: lines with something unknown at the end */
	uint32_t fields;
	bool named;   /* text: the first block has shown how blocks are named */
	bool unnamed; /* set by callers that need no objects: blocks keep their addresses alone */
	bool beside;  /* set by callers that do not fork: another thread may decode ahead */
	struct mz_names *names; /* that the trace brings along; NULL = none */
	const char *root;	/* of the files that it names: the caller's; NULL = "/" */
	struct mz_attrs *attrs; /* of formats that are no container; NULL = none */
	uint64_t live_blocks;	/* by the events read so far: births that have no end yet */
	uint64_t live_charge;	/* what they cost, in the input's budget */
	void *state;		/* the format's own */
};

/* If memory ran out because of the budget, sets the error that says so: -r->error.code. */
int mz_reader_check_budget(struct mz_reader *r);

/* Entries that are added to the tables are charged to this budget, which must outlive them. An
 * entry that exceeds it gets no number. */
void mz_tables_set_budget(struct mz_tables *t, struct mz_mem_budget *budget);
/*
 * Was there no memory for a string, now or before? mz_tables_string() returns 0 for that alone, but
 * a 0 that is kept stands for "none". A caller therefore checks each number before it keeps it, or
 * asks here before it hands out what it has made; it needs no flag of its own.
 */
bool mz_tables_incomplete(const struct mz_tables *t);

/*
 * What a damaged or cut file has lost of its tables still has numbers. A lost string is NULL, as
 * one that the tables do not have: nobody can take it for a name. A lost frame has an address that
 * no code has; docs/format.md reserves it, so it stays lost in every file that the stack is copied
 * to.
 */
#define MZ_LOST_FRAME UINT64_MAX
uint32_t mz_tables_lost_strings(const struct mz_tables *t); /* how many */
uint32_t mz_tables_lost_frames(const struct mz_tables *t);
/* The number of a string that was lost; 0 = no memory. */
uint32_t mz_tables_add_lost(struct mz_tables *t);

/* A reader of what is left of an input, which it takes over, in failure too. */
struct mz_reader *mz_reader_open_input(struct mz_input *in, struct mz_error *err);

/* An attribute, by the reader of a format that is no container. 0 or -errno. */
int mz_reader_set_text(struct mz_reader *r, const char *key, const char *text);

/* As mz_reader_read(), but blocks of a text trace have addresses only, no objects: for callers
 * that keep the live blocks themselves. */
long mz_reader_read_raw(struct mz_reader *r, struct mz_event *ev, size_t max);

/* A file may number a call site or a cache that its tables do not have. Such a number is unknown:
 * it must not become the size of a table. For callers that count by these numbers. */
void mz_reader_forget_unknown(const struct mz_reader *r, struct mz_event *ev, long n);

/* "line 7" or "byte 70": where the i-th event of the last read was. */
const char *mz_reader_place(const struct mz_reader *r, size_t i, char *buf, size_t size);

#endif
