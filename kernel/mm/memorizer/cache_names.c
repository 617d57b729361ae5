// SPDX-License-Identifier: GPL-2.0
/*
 * Names of slab caches, which are kept after a cache is destroyed. Objects
 * refer to a cache by number.
 */
#include <linux/mm.h>
#include <linux/string.h>

#include "../slab.h"
#include "memorizer.h"

#define MAX_CACHES	1024
#define NAME_LEN	32

static char (*names)[NAME_LEN];	/* filled up with zeroes */
static_assert(NAME_LEN == 4 * sizeof(u64));
static u16 nr_names = 1;		/* 0: none */

static bool same_name(const char *a, const char *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/* Called under the lock: the library's string functions are instrumented. */
static u16 find_name(const char *name)
{
	char *new = names[nr_names];
	int len = 0;
	u16 i;

	if (nr_names == MAX_CACHES)
		return 0;
	for (; name[len] && len < NAME_LEN - 1; len++)
		new[len] = name[len] > ' ' && name[len] != ',' ? name[len] : '_';
	__memset(new + len, 0, NAME_LEN - len);
	for (i = 1; i < nr_names; i++)
		if (same_name(names[i], new))
			return i;
	return nr_names++;
}

u16 memorizer_cache_id(struct kmem_cache *s)
{
	unsigned long flags;

	if (likely(s->memorizer_id))
		return s->memorizer_id;
	/* The caches of the slab allocator itself get their names late in the boot. */
	if (!s->name)
		return 0;
	if (!READ_ONCE(names)) {
		void *mem = memorizer_pool_alloc(MAX_CACHES * NAME_LEN);

		if (!mem)
			return 0;
		if (cmpxchg(&names, NULL, mem))
			return 0;
	}
	flags = memorizer_lock();
	s->memorizer_id = find_name(s->name);
	memorizer_unlock(flags);
	return s->memorizer_id;
}

const char *memorizer_cache_name(u16 id)
{
	return id ? names[id] : "";
}
