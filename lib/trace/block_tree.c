// SPDX-License-Identifier: BSD-2-Clause
/* The block that holds call stacks as a tree. */
#include <errno.h>

#include "trace/block.h"
#include "trace/stack_tree.h"

/* No real frame has such an address: what it was, a damaged block has said. */
#define LOST_FRAME UINT64_MAX

struct columns {
	struct mz_codec_column parent, ip, stack;
};

static void free_columns(struct columns *c)
{
	mz_codec_column_free(&c->parent);
	mz_codec_column_free(&c->ip);
	mz_codec_column_free(&c->stack);
}

/* ---- writing ------------------------------------------------------------ */

static void fill(struct columns *c, const struct mz_stack_tree *t, uint32_t nodes, uint32_t stacks)
{
	uint32_t last = nodes;

	for (uint32_t i = nodes + 1; i <= t->nodes; i++) {
		uint32_t parent = mz_stack_tree_parent(t, i);

		/* most are below the one before */
		mz_codec_column_add(&c->parent, i - 1 - parent);
		mz_codec_column_add(
			&c->ip, mz_zigzag(mz_stack_tree_ip(t, i) - mz_stack_tree_ip(t, parent)));
	}
	for (uint32_t i = stacks + 1; i <= t->stacks; i++) {
		uint32_t node = mz_stack_tree_node(t, i);

		mz_codec_column_add(&c->stack, mz_zigzag((uint64_t)node - last));
		last = node;
	}
}

int mz_tree_put(const struct mz_stack_tree *t, uint32_t nodes, uint32_t stacks,
		struct mz_packer *pk, struct mz_buf *out)
{
	struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	struct columns c = {0};
	int ret;

	fill(&c, t, nodes, stacks);
	mz_buf_number(out, nodes + 1ull);
	mz_buf_number(out, stacks + 1ull);
	ret = c.parent.failed || c.ip.failed || c.stack.failed ? -ENOMEM : 0;
	if (!ret)
		ret = mz_codec_column_pack(pk, c.parent.v, c.parent.n, &how, out);
	if (!ret)
		ret = mz_codec_column_pack(pk, c.ip.v, c.ip.n, &how, out);
	if (!ret)
		ret = mz_codec_column_pack(pk, c.stack.v, c.stack.n, &how, out);
	free_columns(&c);
	return ret;
}

/* ---- reading ------------------------------------------------------------ */

static int get_columns(struct columns *c, struct mz_packer *pk, struct mz_bytes *in)
{
	int ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0, &c->parent);

	if (!ret)
		ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0, &c->ip);
	if (!ret)
		ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0, &c->stack);
	return ret ? ret : c->parent.n != c->ip.n || in->p != in->end ? -EBADMSG : 0;
}

/* Numbers whose block is gone still count: what they were is said to be unknown. */
static int skip_lost(struct mz_stack_tree *t, uint64_t node, uint64_t stack, uint64_t lost)
{
	int ret = 0;

	if (node <= t->nodes || node - t->nodes - 1 > lost || stack <= t->stacks ||
	    stack - t->stacks - 1 > lost)
		return -EBADMSG;
	while (!ret && t->nodes + 1 < node)
		ret = mz_stack_tree_add_node(t, 0, LOST_FRAME);
	if (!ret && t->stacks + 1 < stack && !t->nodes)
		return -EBADMSG;
	while (!ret && t->stacks + 1 < stack)
		ret = mz_stack_tree_add_stack(t, t->nodes);
	return ret;
}

static int add_nodes(struct mz_stack_tree *t, const struct columns *c)
{
	int ret = 0;

	for (uint32_t i = 0; i < c->parent.n && !ret; i++) {
		uint64_t back = c->parent.v[i], parent = t->nodes - back;

		/* a caller is older; and nothing is deeper than the format allows */
		if (back > t->nodes ||
		    mz_stack_tree_depth(t, (uint32_t)parent) >= MZ_WIRE_MAX_DEPTH)
			return -EBADMSG;
		ret = mz_stack_tree_add_node(t, (uint32_t)parent,
					     mz_stack_tree_ip(t, (uint32_t)parent) +
						     mz_unzigzag(c->ip.v[i]));
	}
	return ret;
}

static int add_stacks(struct mz_stack_tree *t, const struct columns *c, uint64_t node)
{
	int ret = 0;

	for (uint32_t i = 0; i < c->stack.n && !ret; i++) {
		node += mz_unzigzag(c->stack.v[i]);
		ret = node > t->nodes ? -EBADMSG : mz_stack_tree_add_stack(t, (uint32_t)node);
	}
	return ret;
}

int mz_tree_get(struct mz_stack_tree *t, struct mz_packer *pk, const void *payload, size_t size,
		uint64_t lost)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size};
	uint64_t node = mz_bytes_number(&in), stack = mz_bytes_number(&in);
	struct columns c = {0};
	int ret = in.bad ? -EBADMSG : get_columns(&c, pk, &in);

	if (!ret)
		ret = skip_lost(t, node, stack, lost);
	if (!ret)
		ret = add_nodes(t, &c);
	if (!ret)
		ret = add_stacks(t, &c, node - 1);
	free_columns(&c);
	return ret;
}
