/* SPDX-License-Identifier: BSD-2-Clause */
/* The text form of a trace, one event per line (docs/format.md). */
/*
 *   malloc(8) = 81d220b48<6655> tid=7 time=120
 */
#ifndef MZ_FORMATS_TEXT_H
#define MZ_FORMATS_TEXT_H

#include <string.h>

#include "base/buf.h"
#include "trace/reader.h"

struct mz_text_line {
	const char *line; /* valid until the next line is read */
	size_t len;
	const char *size; /* the size as it was written */
	size_t size_len;
	uint64_t tag;	  /* of addr; 0 = none */
	uint64_t old_tag; /* of old_addr */
	bool junk;	  /* unknown text at the end was ignored */
};

/*
 * Parses one line. 1: an event; 0: blank or comment; -EINVAL: malformed, with the reason in err,
 * but without a line number; -ENOMEM. Objects are not set. Strings and stacks go into tables.
 */
int mz_text_parse(const char *line, size_t len, struct mz_event *ev, struct mz_text_line *info,
		  struct mz_tables *tables, struct mz_error *err);

enum { MZ_TEXT_END, MZ_TEXT_EVENT, MZ_TEXT_NO_EVENT };

/* The next line of the input: an event, a line without one, the end, or -errno
 * with the reason (but not the line number) in err. */
int mz_text_next(struct mz_input *in, struct mz_tables *tables, struct mz_event *ev,
		 struct mz_text_line *info, struct mz_error *err);

/* Completes such a reason with the file and the line; returns -errno. */
int mz_text_fail(struct mz_error *err, const struct mz_error *why, const char *name, uint64_t line);

/* An upper bound for what mz_text_format() writes for this event, newline included. */
size_t mz_text_room(const struct mz_event *ev, const struct mz_tables *tables);

/* Formats the event as a line without newline and returns its length. With tags, objects are shown;
 * a block without address is always shown with its tag: ?<7>. */
size_t mz_text_format(char *out, const struct mz_event *ev, const struct mz_tables *tables,
		      bool tags);

/* Write a number without bounds checks: at most 20 and 16 bytes. Returns the new end. */
char *mz_put_u64(char *p, uint64_t v);
char *mz_put_hex(char *p, uint64_t v);

static inline char *mz_put_str(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n);
	return p + n;
}

extern const struct mz_reader_ops mz_text_reader_ops;

/* Do the first bytes look like text? */
bool mz_text_probe(const char *data, size_t len);

#endif
