/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The three verbs of the originals in their usual form, which are nearly all
 * lines of nearly all traces. Anything unusual is left to the full parser.
 */
#ifndef MZ_FORMATS_TEXT_FAST_H
#define MZ_FORMATS_TEXT_FAST_H

#include "formats/text.h"

/* Characters that must be readable, and that the longest plain line fits in. */
#define MZ_TEXT_FAST 160

/* The line at p: its newline, or NULL: not a plain line, nothing is known of it. */
const char *mz_text_parse_fast(const char *p, struct mz_event *ev, struct mz_text_line *info);

#endif
