// SPDX-License-Identifier: BSD-2-Clause
/* Fill struct mz_error; the first message is kept. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* False: the caller wants no message, or there is an earlier one. */
static bool set(struct mz_error *err, int code, const char *fmt, va_list ap)
{
	if (!err || err->code)
		return false;
	err->code = code;
	err->line = 0;
	err->has_offset = false;
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	return true;
}

int mz_fail(struct mz_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, code, fmt, ap);
	va_end(ap);
	return -code;
}

int mz_fail_offset(struct mz_error *err, int code, uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (set(err, code, fmt, ap)) {
		err->offset = offset;
		err->has_offset = true;
	}
	va_end(ap);
	return -code;
}

int mz_fail_line(struct mz_error *err, int code, uint64_t line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (set(err, code, fmt, ap))
		err->line = line;
	va_end(ap);
	return -code;
}

int mz_fail_memory(struct mz_error *err)
{
	return mz_fail(err, ENOMEM, "out of memory");
}

int mz_error_code(const struct mz_error *err)
{
	/* a failure must not become a success if the message is missing */
	return err && err->code ? -err->code : -EIO;
}

int mz_fail_option(struct mz_error *err)
{
	return mz_fail(err, E2BIG, "this libmemorizer is too old for an option of the program");
}

void *mz_zalloc(size_t size, struct mz_error *err)
{
	void *p = calloc(1, size);

	if (!p)
		mz_fail_memory(err);
	return p;
}

/* Names from files may contain terminal escapes, so only printable ASCII is copied and the
 * rest is shown as hex. A long text is cut with dots rather than dropped. */
char *mz_printable(char *buf, size_t size, const char *s, size_t n)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (o + 8 > size) {
			memcpy(buf + o, "...", 4);
			return buf;
		}
		if (c >= 0x20 && c < 0x7f)
			buf[o++] = (char)c;
		else
			o += (size_t)snprintf(buf + o, size - o, "\\x%02x", c);
	}
	buf[o] = '\0';
	return buf;
}
