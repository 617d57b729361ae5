// SPDX-License-Identifier: BSD-2-Clause
/* Determine the structure type of each class of objects in a KMAP. */
#include "analysis/kmap_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Pages and stacks hold anything; the type of a variable is found in another way. */
static bool may_have_type(const struct mz_kmap_model *m, const struct mz_kmap_class *c)
{
	const char *type = mz_kmap_string(m, c->type);

	return !c->global && m->places[c->place].ip && strncmp(type, "ALLOC_PAGES", 11) &&
	       strncmp(type, "STACK", 5) && strncmp(type, "MEMBLOCK", 8);
}

static int ask(struct mz_kmap_model *m, uint32_t class, int64_t shift)
{
	const struct mz_kmap_class *c = &m->classes[class];
	const struct mz_kmap_place *p = &m->places[c->place];
	struct mz_kmap_type *to = &m->class_types[class];
	struct mz_types_query q = {.ip = p->ip - (uint64_t)shift,
				   .function = p->function ? mz_kmap_string(m, p->function) : NULL,
				   .cache = c->cache ? mz_kmap_string(m, c->cache) : NULL,
				   .least = c->least,
				   .greatest = c->greatest};
	struct mz_types_answer a;

	*to = (struct mz_kmap_type){.type = MZ_TYPES_NONE, .how = MZ_TYPES_UNKNOWN};
	if (!may_have_type(m, c) || p->module)
		return 0;
	if (mz_types_ask(m->types, &q, &a) < 0)
		return -ENOMEM;
	to->type = a.type;
	to->how = (uint8_t)a.how;
	to->by = *a.by ? mz_tables_string(m->strings, a.by, strlen(a.by)) : 0;
	return *a.by && !to->by ? -ENOMEM : 0;
}

/* A cache for one kind of object; those of kmalloc hold all kinds. */
static bool is_of_one_sort(const char *cache)
{
	return *cache && strncmp(cache, "kmalloc", 7);
}

static bool same(const struct mz_kmap_model *m, uint32_t a, uint32_t b)
{
	return mz_types_size(m->types, a) == mz_types_size(m->types, b) &&
	       !strcmp(mz_types_name(m->types, a), mz_types_name(m->types, b));
}

/* The type that all sites of a cache with a known type agree on; NONE: none is known, or they
 * disagree. */
static uint32_t agreed(const struct mz_kmap_model *m, uint32_t cache)
{
	uint32_t type = MZ_TYPES_NONE;

	for (size_t i = 0; i < m->n_classes; i++) {
		uint32_t of = m->class_types[i].type;

		if (m->classes[i].cache != cache || of == MZ_TYPES_NONE)
			continue;
		if (type != MZ_TYPES_NONE && !same(m, type, of))
			return MZ_TYPES_NONE;
		type = of;
	}
	return type;
}

/* A site without a type gets the one that the other sites of its cache agree on. */
static int spread(struct mz_kmap_model *m)
{
	struct mz_pair_index caches = {0};
	uint32_t *types = NULL;
	size_t cap = 0;
	int ret = 0;

	for (size_t i = 0; i < m->n_classes && !ret; i++) {
		const struct mz_kmap_class *c = &m->classes[i];
		struct mz_kmap_type *to = &m->class_types[i];
		size_t before = caches.count;
		uint32_t id;

		if (to->type != MZ_TYPES_NONE || !may_have_type(m, c) ||
		    !is_of_one_sort(mz_kmap_string(m, c->cache)))
			continue;
		id = mz_pair_index_put(&caches, c->cache, 0);
		if (id == MZ_PAIR_INDEX_NONE ||
		    !mz_array_room((void **)&types, &cap, id, sizeof(*types))) {
			ret = -ENOMEM;
			break;
		}
		if (caches.count > before)
			types[id] = agreed(m, c->cache);
		if (types[id] != MZ_TYPES_NONE && c->least >= mz_types_size(m->types, types[id]))
			*to = (struct mz_kmap_type){
				.type = types[id], .how = MZ_TYPES_ALIKE, .by = c->cache};
	}
	mz_pair_index_deinit(&caches);
	free(types);
	return ret;
}

int mz_kmap_find_types(struct mz_kmap_model *m, struct mz_types *types, int64_t shift)
{
	int ret = 0;

	m->types = types;
	m->class_types = calloc(m->n_classes ? m->n_classes : 1, sizeof(*m->class_types));
	if (!m->class_types)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_classes && !ret; i++)
		ret = ask(m, i, shift);
	return ret ? ret : spread(m);
}
