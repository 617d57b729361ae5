// SPDX-License-Identifier: BSD-2-Clause
/* Call stacks as a tree of frames. */
#include "trace/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_INDEX 256u
#define MOST	    0x7fffffffu
#define NODE_BYTES  32u /* of a node in all arrays, with the room that is left in them */

void mz_stack_tree_deinit(struct mz_stack_tree *t)
{
	mz_spill_free(&t->parent);
	mz_spill_free(&t->ip);
	mz_spill_free(&t->depth);
	mz_spill_free(&t->stack_of);
	mz_spill_free(&t->node_of);
	mz_spill_free(&t->index);
	for (unsigned i = 0; i < MZ_STACK_SCRATCH; i++)
		free(t->scratch[i]);
	*t = (struct mz_stack_tree){0};
}

/* ---- the index ---------------------------------------------------------- */

static uint32_t slot_of(const struct mz_stack_tree *t, uint32_t parent, uint64_t ip)
{
	return (uint32_t)mz_hash_mix(ip ^ t->seed[0], parent ^ t->seed[1]) & t->mask;
}

static void enter(struct mz_stack_tree *t, uint32_t node)
{
	uint32_t *index = t->index.data;
	uint32_t i = slot_of(t, mz_stack_tree_parent(t, node), mz_stack_tree_ip(t, node));

	while (index[i])
		i = (i + 1) & t->mask;
	index[i] = node;
}

/* Room for one node more, and all nodes in it. */
static int make_index(struct mz_stack_tree *t)
{
	uint64_t size = t->index.data ? (uint64_t)t->mask + 1 : FIRST_INDEX;

	if (!t->index.data)
		mz_hash_random(t->seed, 2);
	while (t->nodes + 1ull > size / 3 * 2)
		size *= 2;
	if (!t->index.data || size > (uint64_t)t->mask + 1) {
		struct mz_spill_array wide = {0};

		if (mz_spill_room(&t->spill, &wide, size * sizeof(uint32_t)) < 0)
			return -ENOMEM;
		mz_spill_free(&t->index);
		t->index = wide;
		t->mask = (uint32_t)(size - 1);
		t->indexed = 0;
	}
	while (t->indexed < t->nodes)
		enter(t, ++t->indexed);
	return 0;
}

static uint32_t find(const struct mz_stack_tree *t, uint32_t parent, uint64_t ip)
{
	const uint32_t *index = t->index.data;

	for (uint32_t i = slot_of(t, parent, ip); index[i]; i = (i + 1) & t->mask)
		if (mz_stack_tree_ip(t, index[i]) == ip &&
		    mz_stack_tree_parent(t, index[i]) == parent)
			return index[i];
	return 0;
}

/* Whoever asks for a stack gets it: there is room for the deepest. */
static int make_scratch(struct mz_stack_tree *t, uint32_t depth)
{
	uint32_t cap = depth + depth / 2 + 32;

	if (depth <= t->scratch_cap)
		return 0;
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

int mz_stack_tree_add_stack(struct mz_stack_tree *t, uint32_t node)
{
	if (t->stacks >= MOST || !mz_mem_take(t->budget, MZ_MEM_ENTRY) || make_scratch(t, 1) < 0 ||
	    mz_spill_room(&t->spill, &t->node_of, ((size_t)t->stacks + 2) * sizeof(uint32_t)) < 0)
		return -ENOMEM;
	((uint32_t *)t->node_of.data)[++t->stacks] = node;
	return 0;
}

/* The node of a frame below another, made if need be; 0: no memory. */
static uint32_t child(struct mz_stack_tree *t, uint32_t parent, uint64_t ip)
{
	uint32_t node = find(t, parent, ip);

	if (node)
		return node;
	if (mz_stack_tree_add_node(t, parent, ip) < 0 || make_index(t) < 0)
		return 0;
	return t->nodes;
}

uint32_t mz_stack_tree_put(struct mz_stack_tree *t, const uint64_t *ips, size_t depth)
{
	uint32_t node = 0, *stack;

	if (make_index(t) < 0)
		return 0;
	for (size_t i = depth; i-- > 0;) {
		node = child(t, node, ips[i]);
		if (!node)
			return 0;
	}
	if (mz_spill_room(&t->spill, &t->stack_of, ((size_t)t->nodes + 2) * sizeof(uint32_t)) < 0)
		return 0;
	stack = &((uint32_t *)t->stack_of.data)[node];
	if (!*stack && !mz_stack_tree_add_stack(t, node))
		*stack = t->stacks;
	return *stack;
}

/* ---- looking ------------------------------------------------------------ */

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
	mz_spill_let_go(&t->index);
}
