// SPDX-License-Identifier: BSD-2-Clause
/* Store each distinct string and stack once. */
#include <memorizer.h>
#include <stdlib.h>

#include "base/bytes_index.h"

struct mz_tables {
	struct mz_bytes_index strings, stacks;
};

/* Numbers of tables begin with 1; 0 = no memory. */
static uint32_t intern(struct mz_bytes_index *ix, const void *data, size_t len)
{
	return mz_bytes_index_put(ix, data, len) + 1;
}

static const struct mz_bytes_item *get(const struct mz_bytes_index *ix, uint32_t id)
{
	return id && id <= ix->count ? &ix->items[id - 1] : NULL;
}

struct mz_tables *mz_tables_new(void)
{
	return calloc(1, sizeof(struct mz_tables));
}

void mz_tables_free(struct mz_tables *t)
{
	if (!t)
		return;
	mz_bytes_index_deinit(&t->strings);
	mz_bytes_index_deinit(&t->stacks);
	free(t);
}

uint32_t mz_tables_string(struct mz_tables *t, const char *s, size_t len)
{
	return intern(&t->strings, s, len);
}

uint32_t mz_tables_stack(struct mz_tables *t, const uint64_t *ips, size_t depth)
{
	return intern(&t->stacks, ips, depth * sizeof(*ips));
}

const char *mz_tables_get_string(const struct mz_tables *t, uint32_t id, size_t *len)
{
	const struct mz_bytes_item *item = get(&t->strings, id);

	if (len)
		*len = item ? item->len : 0;
	return item ? item->data : NULL;
}

const uint64_t *mz_tables_get_stack(const struct mz_tables *t, uint32_t id, size_t *depth)
{
	const struct mz_bytes_item *item = get(&t->stacks, id);

	if (depth)
		*depth = item ? item->len / sizeof(uint64_t) : 0;
	return item ? (const uint64_t *)(const void *)item->data : NULL;
}

uint32_t mz_tables_strings(const struct mz_tables *t)
{
	return (uint32_t)t->strings.count;
}

uint32_t mz_tables_stacks(const struct mz_tables *t)
{
	return (uint32_t)t->stacks.count;
}
