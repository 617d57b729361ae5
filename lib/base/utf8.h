/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 as readers demand it. Names are bytes from anywhere: what is not UTF-8
 * is replaced, never passed on. */
#ifndef MZ_BASE_UTF8_H
#define MZ_BASE_UTF8_H

#include "base/buf.h"

/* Bytes of the character at s (1 to 4); 0 = no UTF-8 begins here. */
size_t mz_utf8_length(const char *s, size_t n);

/* s as UTF-8: each byte that is none becomes U+FFFD, and so does NUL. */
void mz_utf8_add(struct mz_buf *b, const char *s, size_t n);

#endif
