/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing byte buffer. Failure is sticky: append freely, check once. */
#ifndef MZ_BASE_BUF_H
#define MZ_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mz_buf {
	char *data;
	size_t len;
	size_t cap;
	bool failed; /* memory ran out; data is what fitted before */
};

void mz_buf_free(struct mz_buf *b);

/* Room for n more bytes at the end: true, or false and failed is set. */
bool mz_buf_room(struct mz_buf *b, size_t n);

void mz_buf_add(struct mz_buf *b, const void *data, size_t n);
void mz_buf_str(struct mz_buf *b, const char *s);
void mz_buf_printf(struct mz_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
