/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that say what is wrong, where, and what to do. */
#ifndef MZ_BASE_ERROR_H
#define MZ_BASE_ERROR_H

#include <memorizer.h>

/* Set the error, return -code. err may be NULL. The first error is kept. */
int mz_fail(struct mz_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the byte offset (or the line) of the place in the input. */
int mz_fail_offset(struct mz_error *err, int code, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int mz_fail_line(struct mz_error *err, int code, uint64_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

int mz_fail_memory(struct mz_error *err);
/* For callers of a function that has returned NULL: -errno, as it set the error. -EIO if nobody
 * asked for the error. */
int mz_error_code(const struct mz_error *err);
/* For options, flags and reserved members that this version does not know. */
int mz_fail_option(struct mz_error *err);
/* Memory of zeros; NULL with the error set. */
void *mz_zalloc(size_t size, struct mz_error *err);

/* A copy of n bytes with everything unprintable escaped, cut to fit: for
 * showing input in messages. Returns buf. */
char *mz_printable(char *buf, size_t size, const char *s, size_t n);

#endif
