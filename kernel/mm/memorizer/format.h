/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_MEMORIZER_FORMAT_H
#define _MM_MEMORIZER_FORMAT_H

#include "access.h"
#include "memorizer.h"

typedef char *(*memorizer_format_fn)(const struct memorizer_object *obj,
				     char *p, char *end);

char *memorizer_format_kmap(const struct memorizer_object *obj, char *p, char *end);
char *memorizer_format_fields(const struct memorizer_object *obj, char *p, char *end);
char *memorizer_format_allocation(const struct memorizer_object *obj, char *p, char *end);
char *memorizer_format_accesses(const struct memorizer_object *obj, char *p, char *end);

/* An access site, added up over the tables that it is in. */
struct memorizer_sum {
	u64 key;
	u64 writes, reads;
	memorizer_range_t range;
};

void memorizer_each_site(const struct memorizer_object *obj,
			 bool (*fn)(void *data, const struct memorizer_sum *sum),
			 void *data);

/* The key as it was entered. Negative: the bit is part of pid -1. */
static inline u64 memorizer_open_key(u64 key)
{
	return (s64)key > 0 ? key & ~MEMORIZER_CLOSED : key;
}

/* The slot of @key in one table or NULL. */
static inline const struct memorizer_site *
memorizer_lookup(const struct memorizer_sites *sites, u64 key)
{
	const struct memorizer_site *site =
		&sites->site[memorizer_first_slot(sites, memorizer_open_key(key))];
	const struct memorizer_site *end = site + sites->reach;

	for (; site < end; site++) {
		u64 found = READ_ONCE(site->key);

		if (memorizer_same_key(found, key))
			return site;
		if (!found)
			break;
	}
	return NULL;
}

#endif /* _MM_MEMORIZER_FORMAT_H */
