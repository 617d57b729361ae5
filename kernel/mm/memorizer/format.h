/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_MEMORIZER_FORMAT_H
#define _MM_MEMORIZER_FORMAT_H

#include "access.h"
#include "memorizer.h"

typedef char *(*memorizer_format_fn)(const struct memorizer_object *obj,
				     char *p, char *end);

char *memorizer_format_kmap(const struct memorizer_object *obj, char *p, char *end);
char *memorizer_format_csv(const struct memorizer_object *obj, char *p, char *end);
void memorizer_each_site(const struct memorizer_object *obj,
			 bool (*fn)(void *data, u64 key, u64 writes, u64 reads),
			 void *data);

/* The slot of @key in one table or NULL. */
static inline const struct memorizer_site *
memorizer_lookup(const struct memorizer_sites *sites, u64 key)
{
	u32 i, slot = memorizer_hash(key);

	for (i = 0; i <= sites->mask; i++) {
		const struct memorizer_site *site =
			&sites->site[(slot + i) & sites->mask];
		u64 found = READ_ONCE(site->key);

		if (found == key)
			return site;
		if (!found)
			return NULL;
	}
	return NULL;
}

#endif /* _MM_MEMORIZER_FORMAT_H */
