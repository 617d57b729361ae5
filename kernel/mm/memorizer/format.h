/* SPDX-License-Identifier: GPL-2.0 */
/* Objects and their accesses as lines of text. */
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

/* What one code address of one process did to an object. */
struct memorizer_sum {
	u64 key;		/* pid << 32 | packed ip */
	u64 writes, reads;
	memorizer_range_t range;
};

void memorizer_each_site(const struct memorizer_object *obj,
			 bool (*fn)(void *data, const struct memorizer_sum *sum),
			 void *data);

#endif /* _MM_MEMORIZER_FORMAT_H */
