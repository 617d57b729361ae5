/* SPDX-License-Identifier: BSD-2-Clause */
/* A fast parser for malloc, realloc and free in their usual form. */
/* These make up nearly all lines of nearly all traces. Anything else is left to the full parser. */
#ifndef MZ_FORMATS_TEXT_FAST_H
#define MZ_FORMATS_TEXT_FAST_H

#include "formats/text.h"

/* How many characters must be readable: the longest plain line fits into them. */
#define MZ_TEXT_FAST 160

/* Parses the line at p. Returns its newline, or NULL if the line is not a plain one. */
const char *mz_text_parse_fast(const char *p, struct mz_event *ev, struct mz_text_line *info);

#endif
