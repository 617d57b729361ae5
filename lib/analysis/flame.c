// SPDX-License-Identifier: BSD-2-Clause
/* Build a tree of weighted paths and fold its small nodes for a flame graph. */
#include "analysis/flame.h"

#include <errno.h>
#include <memorizer.h>
#include <stdlib.h>
#include <string.h>

int mz_flame_init(struct mz_flame *f, struct mz_tables *names)
{
	*f = (struct mz_flame){.cap = 256, .mask = 1023, .names = names};
	f->nodes = calloc(f->cap, sizeof(*f->nodes));
	f->slots = calloc(f->mask + 1, sizeof(*f->slots));
	if (!f->nodes || !f->slots) {
		mz_flame_deinit(f);
		return -ENOMEM;
	}
	f->count = 1;
	return 0;
}

void mz_flame_deinit(struct mz_flame *f)
{
	free(f->nodes);
	free(f->slots);
	*f = (struct mz_flame){0};
}

static uint32_t hash(uint32_t parent, uint32_t name)
{
	return (uint32_t)((((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15u) >> 32);
}

static int grow(struct mz_flame *f)
{
	uint32_t cap = f->cap * 2, mask = f->mask * 2 + 1;
	struct mz_flame_node *nodes;
	uint32_t *slots;

	if (cap > 1u << 30)
		return -ENOMEM;
	nodes = realloc(f->nodes, cap * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	f->nodes = nodes;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 1; i < f->count; i++) {
		uint32_t at = hash(nodes[i].parent, nodes[i].name) & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = i;
	}
	free(f->slots);
	f->slots = slots;
	f->mask = mask;
	f->cap = cap;
	return 0;
}

/* The child of that name, made if there is none; 0 = no memory. */
static uint32_t child(struct mz_flame *f, uint32_t parent, uint32_t name)
{
	uint32_t at;

	if (f->count == f->cap && grow(f) < 0)
		return 0;
	at = hash(parent, name) & f->mask;
	for (; f->slots[at]; at = (at + 1) & f->mask) {
		const struct mz_flame_node *n = &f->nodes[f->slots[at]];

		if (n->parent == parent && n->name == name)
			return f->slots[at];
	}
	f->slots[at] = f->count;
	f->nodes[f->count] = (struct mz_flame_node){.parent = parent, .name = name};
	return f->count++;
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

/* The share of a node in the value where it is largest; never above its parent's. */
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
		/* those as small as the first that has no room are left out together */
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
