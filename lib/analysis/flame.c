// SPDX-License-Identifier: BSD-2-Clause
/* Build a tree of weighted paths and fold its small nodes for a flame graph. */
#include "analysis/flame.h"

#include <errno.h>
#include <memorizer.h>
#include <stdlib.h>
#include <string.h>

int mz_flame_init(struct mz_flame *f, struct mz_tables *names)
{
	*f = (struct mz_flame){.names = names};
	/* the root: no node has itself for a child */
	if (mz_pair_index_put(&f->index, UINT64_MAX, 0) == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&f->nodes, &f->cap, 0, sizeof(*f->nodes))) {
		mz_flame_deinit(f);
		return -ENOMEM;
	}
	f->count = 1;
	return 0;
}

void mz_flame_deinit(struct mz_flame *f)
{
	free(f->nodes);
	mz_pair_index_deinit(&f->index);
	*f = (struct mz_flame){0};
}

/* The child with that name, which is added if it is new; 0 = no memory. */
/* A node is found by its parent and its name, so that a path costs one lookup per level, however
 * wide the tree is. */
static uint32_t child(struct mz_flame *f, uint32_t parent, uint32_t name)
{
	uint32_t at = mz_pair_index_put(&f->index, parent, name);

	if (at == MZ_PAIR_INDEX_NONE)
		return 0;
	if (at < f->count)
		return at;
	if (!mz_array_room((void **)&f->nodes, &f->cap, at, sizeof(*f->nodes)))
		return 0;
	f->nodes[at] = (struct mz_flame_node){.parent = parent, .name = name};
	f->count = at + 1;
	return at;
}

static void add_value(struct mz_flame_node *n, const uint64_t *value)
{
	for (int i = 0; i < MZ_FLAME_VALUES; i++)
		n->value[i] += value[i];
}

int mz_flame_add(struct mz_flame *f, const uint32_t *path, size_t depth,
		 const uint64_t value[MZ_FLAME_VALUES])
{
	uint32_t at = 0;

	for (size_t i = 0; i < depth; i++)
		if (!path[i])
			return -ENOMEM; /* a name that could not be kept */
	add_value(&f->nodes[0], value);
	for (size_t i = 0; i < depth; i++) {
		at = child(f, at, path[i]);
		if (!at)
			return -ENOMEM;
		add_value(&f->nodes[at], value);
	}
	return 0;
}

/* A path of folders becomes a path in the tree. */
size_t mz_flame_split(struct mz_tables *names, const char *text, uint32_t *path, size_t most)
{
	size_t n = 0;

	while (*text && n < most) {
		size_t len = strcspn(text, "/");

		if (len)
			path[n++] = mz_tables_string(names, text, len);
		text += len + (text[len] == '/');
	}
	return n;
}

/* The share of a node in the value where it is largest; never above that of its parent. */
static float share(const struct mz_flame *f, uint32_t i)
{
	double most = 0;

	for (int k = 0; k < MZ_FLAME_VALUES; k++) {
		uint64_t all = f->nodes[0].value[k];
		double s = all ? (double)f->nodes[i].value[k] / (double)all : 0;

		if (s > most)
			most = s;
	}
	return (float)most;
}

static int larger_first(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x > y ? -1 : x < y;
}

/* The browser draws a few thousand nodes well. Children are never larger than their parent, so
 * that what is left is still a tree. */
int mz_flame_cut(const struct mz_flame *f, uint32_t most, struct mz_flame_cut *cut)
{
	float *shares = malloc(f->count * sizeof(*shares)), least = 0;

	*cut = (struct mz_flame_cut){.shown = calloc(f->count, sizeof(*cut->shown))};
	if (!shares || !cut->shown) {
		free(shares);
		free(cut->shown);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f->count; i++)
		shares[i] = share(f, i);
	if (f->count > most) {
		qsort(shares, f->count, sizeof(*shares), larger_first);
		least = shares[most];
	}
	for (uint32_t i = 0; i < f->count; i++) {
		/* if one node has no room, all nodes of its size are left out */
		bool keep = !i || (cut->shown[f->nodes[i].parent] &&
				   (f->count <= most || share(f, i) > least));

		if (keep)
			cut->shown[i] = ++cut->kept;
		else
			cut->folded++;
	}
	free(shares);
	return 0;
}
