// SPDX-License-Identifier: BSD-2-Clause
/* Store each distinct string and stack once. */
#include <errno.h>
#include <memorizer.h>
#include <stdlib.h>
#include <string.h>

struct item {
	const char *data;
	size_t len;
	uint64_t hash;
};

struct table {
	struct item *items; /* number i is items[i - 1] */
	uint32_t count;
	uint32_t cap;
	uint32_t *index; /* hash -> number, open addressing, 0 = empty */
	uint32_t mask;
};

struct mz_tables {
	struct table strings;
	struct table stacks;
};

static uint64_t hash_bytes(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u ^ n;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

static int grow_index(struct table *t)
{
	uint32_t size = t->index ? (t->mask + 1) * 2 : 64;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -ENOMEM;
	for (uint32_t n = 1; n <= t->count; n++) {
		uint32_t i = (uint32_t)t->items[n - 1].hash & (size - 1);

		while (index[i])
			i = (i + 1) & (size - 1);
		index[i] = n;
	}
	free(t->index);
	t->index = index;
	t->mask = size - 1;
	return 0;
}

static int grow_items(struct table *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 64;
	struct item *items = cap > t->cap ? realloc(t->items, cap * sizeof(*items)) : NULL;

	if (!items)
		return -ENOMEM;
	t->items = items;
	t->cap = cap;
	return 0;
}

static uint32_t append(struct table *t, uint32_t slot, const char *data, size_t len, uint64_t hash)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, len);
	copy[len] = '\0';
	t->items[t->count++] = (struct item){copy, len, hash};
	t->index[slot] = t->count;
	return t->count;
}

static uint32_t intern(struct table *t, const char *data, size_t len)
{
	uint64_t hash = hash_bytes(data, len);
	uint32_t i;

	if ((!t->index || t->count >= t->mask / 4 * 3) && grow_index(t) < 0)
		return 0;
	if (t->count == t->cap && grow_items(t) < 0)
		return 0;
	for (i = (uint32_t)hash & t->mask; t->index[i]; i = (i + 1) & t->mask) {
		struct item *item = &t->items[t->index[i] - 1];

		if (item->hash == hash && item->len == len && !memcmp(item->data, data, len))
			return t->index[i];
	}
	return append(t, i, data, len, hash);
}

static const struct item *get(const struct table *t, uint32_t id)
{
	return id && id <= t->count ? &t->items[id - 1] : NULL;
}

static void deinit(struct table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free((void *)t->items[i].data);
	free(t->items);
	free(t->index);
}

struct mz_tables *mz_tables_new(void)
{
	return calloc(1, sizeof(struct mz_tables));
}

void mz_tables_free(struct mz_tables *t)
{
	if (!t)
		return;
	deinit(&t->strings);
	deinit(&t->stacks);
	free(t);
}

uint32_t mz_tables_string(struct mz_tables *t, const char *s, size_t len)
{
	return intern(&t->strings, s, len);
}

uint32_t mz_tables_stack(struct mz_tables *t, const uint64_t *ips, size_t depth)
{
	return intern(&t->stacks, (const char *)ips, depth * sizeof(*ips));
}

const char *mz_tables_get_string(const struct mz_tables *t, uint32_t id, size_t *len)
{
	const struct item *item = get(&t->strings, id);

	if (len)
		*len = item ? item->len : 0;
	return item ? item->data : NULL;
}

const uint64_t *mz_tables_get_stack(const struct mz_tables *t, uint32_t id, size_t *depth)
{
	const struct item *item = get(&t->stacks, id);

	if (depth)
		*depth = item ? item->len / sizeof(uint64_t) : 0;
	return item ? (const uint64_t *)(const void *)item->data : NULL;
}

uint32_t mz_tables_strings(const struct mz_tables *t)
{
	return t->strings.count;
}

uint32_t mz_tables_stacks(const struct mz_tables *t)
{
	return t->stacks.count;
}
