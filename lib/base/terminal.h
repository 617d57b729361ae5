/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that a terminal shows but does not obey. */
#ifndef MZ_BASE_TERMINAL_H
#define MZ_BASE_TERMINAL_H

#include "base/buf.h"

/*
 * s as printable UTF-8: control characters (C0, DEL, C1), bytes that are not UTF-8, and
 * characters that change the direction of text or end a line unseen become \xNN, byte by
 * byte. lines: newlines and tabs stay. Returns how many bytes were taken: all of them, or
 * with `more`, which says that more will follow, all but a character that is not whole.
 */
size_t mz_terminal_add(struct mz_buf *b, const char *s, size_t n, bool lines, bool more);

#endif
