/* SPDX-License-Identifier: BSD-2-Clause */
/* Public structures that begin with their size, so that they can grow. */
#ifndef MZ_BASE_SIZED_H
#define MZ_BASE_SIZED_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Copies as much of ours as the caller's structure has room for, after its size; what only the
 * caller knows becomes 0. -EINVAL: the caller did not set the size. */
static inline int mz_sized_give(void *to, const void *from, size_t size)
{
	size_t have = to ? *(const size_t *)to : 0;

	if (have < sizeof(have))
		return -EINVAL;
	memcpy((char *)to + sizeof(have), (const char *)from + sizeof(have),
	       (have < size ? have : size) - sizeof(have));
	if (have > size)
		memset((char *)to + size, 0, have - size);
	return 0;
}

/* The other way: options of a caller. What it does not have becomes 0. -EINVAL: its size is not
 * set; -E2BIG: it contains options that this library does not know. */
static inline int mz_sized_take(void *to, const void *from, size_t size)
{
	size_t have = *(const size_t *)from;
	const char *bytes = from;

	if (have < sizeof(have))
		return -EINVAL;
	for (size_t i = size; i < have; i++)
		if (bytes[i])
			return -E2BIG;
	memset(to, 0, size);
	memcpy(to, from, have < size ? have : size);
	return 0;
}

#endif
