/* SPDX-License-Identifier: BSD-2-Clause */
/* A line on a terminal that shows the progress of a long task; nothing elsewhere, and nothing in
 * the first second. */
#ifndef MZ_CMDS_PROGRESS_H
#define MZ_CMDS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;    /* "reading x.kmap" */
	double start, shown; /* seconds; 0 = not yet */
	bool quiet;
};

void progress_start(struct progress *p, const char *what);
/* share < 0: not known. count: of units ("lines"). */
void progress_show(struct progress *p, double share, uint64_t count, const char *units);
/* Removes the line. */
void progress_end(struct progress *p);

#endif
