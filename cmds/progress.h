/* SPDX-License-Identifier: BSD-2-Clause */
/* A line on a terminal that shows the progress of a long task; nothing elsewhere, and nothing in
 * the first second. */
#ifndef MZ_CMDS_PROGRESS_H
#define MZ_CMDS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct mz_reader;

struct progress {
	const char *what;    /* "reading x.kmap" */
	double start, shown; /* seconds; 0 = not yet */
	uint64_t whole;	     /* of progress_read(): events; 0 = not known before the end */
	bool quiet;
};

void progress_start(struct progress *p, const char *what);
/* share < 0: not known. count: of units ("lines"). */
void progress_show(struct progress *p, double share, uint64_t count, const char *units);
/* The same for the events of a trace. prints: the command writes to standard output; there is no
 * line if that is a terminal, too. */
void progress_read(struct progress *p, struct mz_reader *in, bool prints);
void progress_events(struct progress *p, uint64_t events);
/* Removes the line. */
void progress_end(struct progress *p);

#endif
