// SPDX-License-Identifier: BSD-2-Clause
/* Grow a byte buffer; a failed append is remembered until the caller checks. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mz_buf_free(struct mz_buf *b)
{
	free(b->data);
	*b = (struct mz_buf){0};
}

/* Doubling keeps the total copying linear. After a failure the buffer stays as it is, and
 * every later append fails as well: callers check once at the end. */
bool mz_buf_room(struct mz_buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	if (b->failed)
		return false;
	if (n <= b->cap - b->len)
		return true;
	while (cap - b->len < n) {
		if (cap > SIZE_MAX / 2) {
			b->failed = true;
			return false;
		}
		cap *= 2;
	}
	p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

void mz_buf_add(struct mz_buf *b, const void *data, size_t n)
{
	if (!n || !mz_buf_room(b, n))
		return;
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

void mz_buf_str(struct mz_buf *b, const char *s)
{
	mz_buf_add(b, s, strlen(s));
}

/* The text is formatted twice, first to measure it: the buffer never holds a cut text. */
void mz_buf_printf(struct mz_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !mz_buf_room(b, (size_t)n + 1)) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}
