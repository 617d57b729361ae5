// SPDX-License-Identifier: BSD-2-Clause
/* The classes of a KMAP, added up by type or by cache. */
#include "analysis/kmap_class_sums.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/pair_index.h"

static int larger_first(const void *a, const void *b)
{
	const struct mz_kmap_class_sum *x = a, *y = b;

	return MZ_ORDER(y->bytes, x->bytes) ?: MZ_ORDER(x->name, y->name);
}

struct mz_kmap_class_sum *mz_kmap_class_sums(const struct mz_kmap_model *m, bool types,
					     size_t *count)
{
	struct mz_kmap_class_sum *g = NULL;
	struct mz_pair_index keys = {0};
	size_t cap = 0;

	for (size_t i = 0; i < m->n_classes; i++) {
		const struct mz_kmap_class *c = &m->classes[i];
		uint32_t name = types ? c->type : c->cache, at = mz_pair_index_put(&keys, name, 0);

		if (at == MZ_PAIR_INDEX_NONE || !mz_array_room((void **)&g, &cap, at, sizeof(*g))) {
			free(g);
			g = NULL;
			break;
		}
		g[at].name = name;
		g[at].kinds++;
		g[at].objects += c->all.objects;
		g[at].bytes += c->all.bytes;
		g[at].live += c->all.bytes - c->freed.bytes;
		g[at].untouched += c->untouched.bytes;
		g[at].reads += c->reads;
		g[at].writes += c->writes;
	}
	*count = g ? keys.count : 0;
	mz_pair_index_deinit(&keys);
	if (g)
		qsort(g, *count, sizeof(*g), larger_first);
	return g;
}
