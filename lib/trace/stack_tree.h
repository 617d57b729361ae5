/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks as a tree. */
/*
 * A node is a frame and the node of its caller, so that stacks share their common frames, and
 * recursion costs one node per level. A stack has a number of its own, from 1 in the order in which
 * they are added.
 */
#ifndef MZ_TRACE_STACK_TREE_H
#define MZ_TRACE_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "base/mem_budget.h"
#include "base/spill.h"

#define MZ_STACK_SCRATCH 4 /* stacks that can be looked at together */

struct mz_stack_tree {
	struct mz_spill spill;
	/* by node: 0 is where all stacks begin, which is no frame */
	struct mz_spill_array parent, ip, depth, stack_of;
	uint32_t nodes;		       /* the last one */
	uint32_t lost;		       /* nodes */
	struct mz_spill_array node_of; /* by stack */
	uint32_t stacks;
	/* Finds nodes by parent and ip. Most nodes have one child, which lies next to what was
	 * added with it; only further children are in the hash table, whose slots are spread over
	 * memory. */
	struct mz_spill_array child; /* by node: the first one */
	struct mz_hash_index index;  /* the others, node - 1 */
	uint32_t indexed;	     /* nodes that can be found; not all while a file is read */
	uint64_t seed[2];	     /* of the hash */
	/* the nodes of the stack that was put last, outermost first: the next one has most of them
	 * in common, and needs no lookup for these */
	uint32_t *path;
	uint32_t path_depth;
	/* the stacks that were looked up last */
	uint64_t *scratch[MZ_STACK_SCRATCH];
	uint32_t scratch_cap;
	unsigned turn;
	struct mz_mem_budget
		*budget; /* that nodes and stacks are taken from; NULL: there is no account */
};

void mz_stack_tree_deinit(struct mz_stack_tree *t);

/* The number of a stack, innermost frame first; it is added if it is new. 0: no
 * memory. */
uint32_t mz_stack_tree_put(struct mz_stack_tree *t, const uint64_t *ips, size_t depth);

/* A node, and a stack that ends at a node, exactly as given: for readers of files. 0 or -ENOMEM. */
int mz_stack_tree_add_node(struct mz_stack_tree *t, uint32_t parent, uint64_t ip);
int mz_stack_tree_add_stack(struct mz_stack_tree *t, uint32_t node);
/* The same for a frame that was lost: an outermost one with the address MZ_LOST_FRAME. */
int mz_stack_tree_add_lost(struct mz_stack_tree *t);

/* The frames of a stack, innermost first, valid until MZ_STACK_SCRATCH others have been looked up.
 * NULL: no such stack. */
const uint64_t *mz_stack_tree_get(struct mz_stack_tree *t, uint32_t stack, size_t *depth);

static inline uint32_t mz_stack_tree_parent(const struct mz_stack_tree *t, uint32_t node)
{
	return ((const uint32_t *)t->parent.data)[node];
}

static inline uint64_t mz_stack_tree_ip(const struct mz_stack_tree *t, uint32_t node)
{
	return node ? ((const uint64_t *)t->ip.data)[node] : 0;
}

static inline uint32_t mz_stack_tree_depth(const struct mz_stack_tree *t, uint32_t node)
{
	return node ? ((const uint16_t *)t->depth.data)[node] : 0;
}

static inline uint32_t mz_stack_tree_node(const struct mz_stack_tree *t, uint32_t stack)
{
	return ((const uint32_t *)t->node_of.data)[stack];
}

/* The memory of arrays that are in files is not needed for now. */
void mz_stack_tree_let_go(const struct mz_stack_tree *t);

#endif
