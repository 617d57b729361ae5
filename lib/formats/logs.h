/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs of other tools, read line by line. */
/* They are FreeBSD's kdump of jemalloc's utrace records, and dtrace's allocation logs. */
#ifndef MZ_FORMATS_LOGS_H
#define MZ_FORMATS_LOGS_H

#include "base/input.h"

/* What a line was. -EINVAL: a line that should be an event but cannot be parsed. */
enum mz_log_line {
	MZ_LOG_OTHER,	/* a record of another kind, a header, a comment, a blank line */
	MZ_LOG_EVENT,	/* an event */
	MZ_LOG_NULL,	/* free(NULL): left out */
	MZ_LOG_UNKNOWN, /* no record of this kind of log */
	MZ_LOG_DROPPED, /* the log says that events were lost here */
	MZ_LOG_LINES
};

/*
 * Parses one line of kdump's output. The event has the pid, the thread with kdump -H, and the time
 * with kdump -T. The message of an error has no line number yet.
 */
int mz_kdump_parse(const char *line, size_t len, struct mz_event *ev, struct mz_error *err);

/* Formats the event as a line of text without newline. Returns its length, at most MZ_LOG_LINE_MAX.
 * Pointers are written as in kdump's output, with 0x. */
size_t mz_kdump_format(char *out, const struct mz_event *ev, bool fields);
#define MZ_LOG_LINE_MAX 512

/* The columns of a dtrace log; set by its header line, where it has one. */
struct mz_dtrace {
	int time, tid, name, args, result; /* -1 = not there */
	bool declared;
};

void mz_dtrace_init(struct mz_dtrace *d);

/* The same for one line of a dtrace log; the event has time and thread if the log does. */
int mz_dtrace_parse(struct mz_dtrace *d, const char *line, size_t len, struct mz_event *ev,
		    struct mz_error *err);

/* ---- a whole log -------------------------------------------------------- */

/* Reads the events of a log. */
struct mz_log {
	struct mz_input *in;
	struct mz_dtrace *dtrace; /* NULL: kdump */
	uint64_t line;
	uint64_t counts[MZ_LOG_LINES];
};

/* The next event: 1, 0 at the end, -errno with err set. It is an error if no line of a log was
 * understood. */
int mz_log_next(struct mz_log *log, struct mz_event *ev, struct mz_error *err);

#endif
