/* SPDX-License-Identifier: BSD-2-Clause */
/* A text as a cell of CSV (RFC 4180). */
#ifndef MZ_BASE_CSV_H
#define MZ_BASE_CSV_H

#include "base/buf.h"

/* Appends the cell, quoted where it must be. A text that a spreadsheet would take for a
 * formula (it begins with = + - @, a tab or a carriage return) gets a ' in front. */
void mz_csv_add(struct mz_buf *b, const char *s, size_t n);

/* The cells of a line, each ended by NUL, in room, which holds the line and a NUL for each
 * cell. How many; 0: more than max, a quote is not closed, or the line has a NUL. */
size_t mz_csv_split(const char *line, size_t len, char *room, char **cells, size_t max);
/* A cell without the ' that mz_csv_add() put in front. */
const char *mz_csv_plain(const char *cell);

#endif
