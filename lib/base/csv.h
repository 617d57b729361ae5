/* SPDX-License-Identifier: BSD-2-Clause */
/* A text as a cell of CSV (RFC 4180). */
#ifndef MZ_BASE_CSV_H
#define MZ_BASE_CSV_H

#include "base/buf.h"

/* Appends the cell, quoted where it must be. A text that a spreadsheet would take for a
 * formula (it begins with = + - @, a tab or a carriage return) gets a ' in front. */
void mz_csv_add(struct mz_buf *b, const char *s, size_t n);

#endif
