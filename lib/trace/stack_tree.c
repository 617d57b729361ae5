// SPDX-License-Identifier: BSD-2-Clause
/* Keep call stacks as a tree of frames. */
#include "trace/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader.h"

#define MOST	   0x7fffffffu
#define NODE_BYTES 40u /* of a node in all arrays, with the room that is left in them */

void mz_stack_tree_deinit(struct mz_stack_tree *t)
{
	mz_spill_free(&t->parent);
	mz_spill_free(&t->ip);
	mz_spill_free(&t->depth);
	mz_spill_free(&t->stack_of);
	mz_spill_free(&t->node_of);
	mz_spill_free(&t->child);
	mz_hash_index_deinit(&t->index);
	for (unsigned i = 0; i < MZ_STACK_SCRATCH; i++)
		free(t->scratch[i]);
	free(t->path);
	*t = (struct mz_stack_tree){0};
}

/* ---- the index ---------------------------------------------------------- */

static uint64_t hash_of(const struct mz_stack_tree *t, uint32_t parent, uint64_t ip)
{
	return mz_hash_mix(ip ^ t->seed[0], parent ^ t->seed[1]);
}

static inline uint32_t *first_child(const struct mz_stack_tree *t, uint32_t node)
{
	return &((uint32_t *)t->child.data)[node];
}

/* Among the children that are not the first: the node, or 0 and *at is the slot where it would
 * be. */
static inline uint32_t find(const struct mz_stack_tree *t, uint64_t h, uint32_t parent, uint64_t ip,
			    size_t *at)
{
	*at = mz_hash_index_home(&t->index, h);
	for (;; *at = mz_hash_index_next(&t->index, *at)) {
		uint32_t node = mz_hash_index_candidate(&t->index, h, at) + 1;

		/* NONE + 1 is 0, which is no node */
		if (!node ||
		    (mz_stack_tree_ip(t, node) == ip && mz_stack_tree_parent(t, node) == parent))
			return node;
	}
}

/* Room for the children of all nodes there are, and of one more. 0 or -ENOMEM. */
static int index_room(struct mz_stack_tree *t)
{
	if (mz_spill_room(&t->spill, &t->child, ((size_t)t->nodes + 2) * sizeof(uint32_t)) < 0)
		return -ENOMEM;
	return mz_hash_index_room(&t->index) ? 0 : -ENOMEM;
}

/* The next node, for which there is room, can be found by its parent and address from now on. */
static void enter(struct mz_stack_tree *t)
{
	uint32_t node = ++t->indexed, parent = mz_stack_tree_parent(t, node);
	uint64_t ip = mz_stack_tree_ip(t, node), h;
	size_t at;

	if (!*first_child(t, parent)) {
		*first_child(t, parent) = node;
		return;
	}
	h = hash_of(t, parent, ip);
	find(t, h, parent, ip, &at);
	mz_hash_index_enter_as(&t->index, h, at, node - 1);
}

/*
 * A reader adds nodes as they are, and most readers never look one up: the index is built when the
 * first stack is put. A file may contain the same node twice; either will do.
 */
static int make_index(struct mz_stack_tree *t)
{
	if (!t->index.slots) {
		mz_hash_random(t->seed, 2);
		t->index.spill = &t->spill;
	}
	if (index_room(t) < 0)
		return -ENOMEM;
	while (t->indexed < t->nodes) {
		if (index_room(t) < 0)
			return -ENOMEM;
		enter(t);
	}
	return 0;
}

/* A caller that asks for a stack gets it: there is room for the deepest one. */
static int make_scratch(struct mz_stack_tree *t, uint32_t depth)
{
	uint32_t cap = depth + depth / 2 + 32;

	uint32_t *path;

	if (depth <= t->scratch_cap)
		return 0;
	path = realloc(t->path, cap * sizeof(*path));
	if (!path)
		return -ENOMEM;
	t->path = path;
	for (unsigned i = 0; i < MZ_STACK_SCRATCH; i++) {
		uint64_t *p = realloc(t->scratch[i], cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		t->scratch[i] = p;
	}
	t->scratch_cap = cap;
	return 0;
}

/* ---- adding ------------------------------------------------------------- */

int mz_stack_tree_add_node(struct mz_stack_tree *t, uint32_t parent, uint64_t ip)
{
	uint32_t depth = mz_stack_tree_depth(t, parent) + 1;
	size_t n = (size_t)t->nodes + 2;

	if (t->nodes >= MOST || !mz_mem_take(t->budget, NODE_BYTES) || make_scratch(t, depth) < 0 ||
	    mz_spill_room(&t->spill, &t->parent, n * sizeof(uint32_t)) < 0 ||
	    mz_spill_room(&t->spill, &t->ip, n * sizeof(uint64_t)) < 0 ||
	    mz_spill_room(&t->spill, &t->depth, n * sizeof(uint16_t)) < 0)
		return -ENOMEM;
	t->nodes++;
	((uint32_t *)t->parent.data)[t->nodes] = parent;
	((uint64_t *)t->ip.data)[t->nodes] = ip;
	((uint16_t *)t->depth.data)[t->nodes] = (uint16_t)depth;
	return 0;
}

int mz_stack_tree_add_lost(struct mz_stack_tree *t)
{
	int ret = mz_stack_tree_add_node(t, 0, MZ_LOST_FRAME);

	t->lost += !ret;
	return ret;
}

int mz_stack_tree_add_stack(struct mz_stack_tree *t, uint32_t node)
{
	if (t->stacks >= MOST || !mz_mem_take(t->budget, MZ_MEM_ENTRY) || make_scratch(t, 1) < 0 ||
	    mz_spill_room(&t->spill, &t->node_of, ((size_t)t->stacks + 2) * sizeof(uint32_t)) < 0)
		return -ENOMEM;
	((uint32_t *)t->node_of.data)[++t->stacks] = node;
	return 0;
}

/* The node of a frame below another one; it is created if necessary. 0: no memory. */
static inline uint32_t child(struct mz_stack_tree *t, uint32_t parent, uint64_t ip)
{
	uint32_t node = *first_child(t, parent);
	size_t at;

	if (node && mz_stack_tree_ip(t, node) == ip)
		return node;
	if (node)
		node = find(t, hash_of(t, parent, ip), parent, ip, &at);
	if (node)
		return node;
	if (index_room(t) < 0 || mz_stack_tree_add_node(t, parent, ip) < 0)
		return 0;
	enter(t);
	return t->nodes;
}

uint32_t mz_stack_tree_put(struct mz_stack_tree *t, const uint64_t *ips, size_t depth)
{
	uint32_t node = 0, *stack;

	if (make_index(t) < 0)
		return 0;
	for (size_t i = depth, level = 0; i-- > 0; level++) {
		if (level < t->path_depth && mz_stack_tree_ip(t, t->path[level]) == ips[i]) {
			node = t->path[level];
			continue;
		}
		node = child(t, node, ips[i]);
		if (!node)
			return 0;
		t->path[level] = node;
		t->path_depth = (uint32_t)level + 1;
	}
	if (mz_spill_room(&t->spill, &t->stack_of, ((size_t)t->nodes + 2) * sizeof(uint32_t)) < 0)
		return 0;
	stack = &((uint32_t *)t->stack_of.data)[node];
	if (!*stack && !mz_stack_tree_add_stack(t, node))
		*stack = t->stacks;
	return *stack;
}

/* ---- looking up stacks -------------------------------------------------- */

const uint64_t *mz_stack_tree_get(struct mz_stack_tree *t, uint32_t stack, size_t *depth)
{
	uint64_t *ips = t->scratch[t->turn++ % MZ_STACK_SCRATCH];

	*depth = 0;
	if (!stack || stack > t->stacks)
		return NULL;
	for (uint32_t node = mz_stack_tree_node(t, stack); node;
	     node = mz_stack_tree_parent(t, node))
		ips[(*depth)++] = mz_stack_tree_ip(t, node);
	return ips;
}

void mz_stack_tree_let_go(const struct mz_stack_tree *t)
{
	mz_spill_let_go(&t->parent);
	mz_spill_let_go(&t->ip);
	mz_spill_let_go(&t->depth);
	mz_spill_let_go(&t->stack_of);
	mz_spill_let_go(&t->node_of);
	mz_spill_let_go(&t->child);
	mz_spill_let_go(&t->index.memory);
}
