// SPDX-License-Identifier: BSD-2-Clause
/* Read and write the blocks that hold call stacks as a tree. */
#include <errno.h>
#include <stdlib.h>

#include "trace/block.h"
#include "trace/callees.h"
#include "trace/stack_tree.h"

#define MAX_UP 64 /* how many callers a reader goes up to find where a chain begins */

/* Nodes are stored in chains, in which each node is called by the one before it. A new stack is
 * one chain, which begins where the stack leaves the known ones. */
enum {
	UP,	/* of a chain: how far up its first node's caller is, from the preceding node */
	LENGTH, /* of a chain: its number of nodes, less one */
	FAR,	/* where UP is 0: how far back the caller is */
	CALLEE, /* of a node: enum mz_callee_code */
	NEW,	/* addresses, relative to the preceding new one */
	KNOWN,	/* numbers of addresses */
	END,	/* of a stack: 0 for the end of the next chain */
	COLUMNS
};

struct chains {
	struct mz_codec_column v[COLUMNS];
	uint32_t at[COLUMNS]; /* the next number of each column */
	struct mz_callees callees;
	uint64_t ip;	  /* the preceding new address */
	uint32_t first;	  /* node of the block */
	uint32_t *number; /* of each node's address */
	uint32_t *last;	  /* of each node's chain */
};

static int start_chains(struct chains *c, uint32_t first, uint32_t nodes)
{
	c->first = first;
	c->number = malloc(((size_t)nodes + 1) * sizeof(*c->number));
	c->last = malloc(((size_t)nodes + 1) * sizeof(*c->last));
	return c->number && c->last ? 0 : -ENOMEM;
}

static void free_chains(struct chains *c)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		mz_codec_column_free(&c->v[i]);
	mz_callees_deinit(&c->callees);
	free(c->number);
	free(c->last);
}

/* The number of a caller; the outside is an older node, too. */
static uint32_t caller(struct chains *c, uint32_t node)
{
	return node < c->first ? mz_callees_older(&c->callees, node) : c->number[node - c->first];
}

/* For each node of the block, the end of its chain. */
static void find_ends(struct chains *c, const struct mz_stack_tree *t)
{
	for (uint32_t i = t->nodes; i >= c->first; i--)
		c->last[i - c->first] = i < t->nodes && mz_stack_tree_parent(t, i + 1) == i
						? c->last[i + 1 - c->first]
						: i;
}

/* ---- writing ------------------------------------------------------------ */

/* How many callers up from a node another one is; 0: it is not a caller, or too far. */
static uint32_t levels_up(const struct mz_stack_tree *t, uint32_t from, uint32_t to)
{
	uint32_t up = mz_stack_tree_depth(t, from) - mz_stack_tree_depth(t, to);

	if (up > MAX_UP) /* or below 0 */
		return 0;
	for (uint32_t i = 0; i < up; i++)
		from = mz_stack_tree_parent(t, from);
	return from == to ? up : 0;
}

static void put_chains(struct chains *c, const struct mz_stack_tree *t)
{
	for (uint32_t i = c->first; i <= t->nodes; i = c->last[i - c->first] + 1) {
		uint32_t parent = mz_stack_tree_parent(t, i), up = levels_up(t, i - 1, parent);

		mz_codec_column_add(&c->v[UP], up);
		if (!up)
			mz_codec_column_add(&c->v[FAR], i - 1 - parent);
		mz_codec_column_add(&c->v[LENGTH], c->last[i - c->first] - i);
	}
}

static int put_frames(struct chains *c, const struct mz_stack_tree *t)
{
	for (uint32_t i = c->first; i <= t->nodes; i++) {
		uint32_t from = caller(c, mz_stack_tree_parent(t, i)), to;
		uint64_t ip = mz_stack_tree_ip(t, i), code = 0;

		if (from == MZ_CALLEE_NONE)
			return -ENOMEM;
		to = mz_callees_tell(&c->callees, from, ip, &code);
		if (to == MZ_CALLEE_NONE)
			return -ENOMEM;
		c->number[i - c->first] = to;
		mz_codec_column_add(&c->v[CALLEE], code);
		if (code == MZ_CALLEE_NEW) {
			mz_codec_column_add(&c->v[NEW], mz_zigzag(ip - c->ip));
			c->ip = ip;
		} else if (code == MZ_CALLEE_KNOWN) {
			mz_codec_column_add(&c->v[KNOWN], to);
		}
	}
	return 0;
}

static void put_ends(struct chains *c, const struct mz_stack_tree *t, uint32_t stacks)
{
	uint32_t high = c->first - 1;

	for (uint32_t i = stacks + 1; i <= t->stacks; i++) {
		uint32_t node = mz_stack_tree_node(t, i);
		bool next = high < t->nodes && node == c->last[high + 1 - c->first];

		mz_codec_column_add(&c->v[END], next ? 0 : mz_zigzag((uint64_t)node - high) + 1);
		high = node > high ? node : high;
	}
}

static int pack_chains(struct chains *c, struct mz_packer *pk, struct mz_buf *out)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		/* BYTES would save 0.06 % of a file at most, and cost as much time again */
		struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};

		if (c->v[i].failed || mz_codec_column_pack(pk, c->v[i].v, c->v[i].n, &how, out) < 0)
			return -ENOMEM;
	}
	return 0;
}

int mz_chains_put(const struct mz_stack_tree *t, uint32_t nodes, uint32_t stacks,
		  struct mz_packer *pk, struct mz_buf *out)
{
	struct chains c = {0};
	int ret = start_chains(&c, nodes + 1, t->nodes - nodes);

	mz_buf_number(out, nodes + 1ull);
	mz_buf_number(out, stacks + 1ull);
	if (!ret) {
		find_ends(&c, t);
		put_chains(&c, t);
		put_ends(&c, t, stacks);
		ret = put_frames(&c, t);
	}
	if (!ret)
		ret = pack_chains(&c, pk, out);
	free_chains(&c);
	return ret;
}

/* ---- reading ------------------------------------------------------------ */

/* Numbers whose block is missing still count, and their content is shown as unknown. */
static int skip_lost(struct mz_stack_tree *t, uint64_t node, uint64_t stack, uint64_t lost)
{
	int ret = 0;

	if (node <= t->nodes || node - t->nodes - 1 > lost || stack <= t->stacks ||
	    stack - t->stacks - 1 > lost)
		return -EBADMSG;
	while (!ret && t->nodes + 1 < node)
		ret = mz_stack_tree_add_lost(t);
	if (!ret && t->stacks + 1 < stack && !t->nodes)
		return -EBADMSG;
	while (!ret && t->stacks + 1 < stack)
		ret = mz_stack_tree_add_stack(t, t->nodes);
	return ret;
}

/* The next number of a column; *bad if there is none. */
static uint64_t next(struct chains *c, unsigned column, bool *bad)
{
	struct mz_codec_column *v = &c->v[column];

	if (c->at[column] < v->n)
		return v->v[c->at[column]++];
	*bad = true;
	return 0;
}

/* The number of the next frame's address. NONE without *bad: no memory. */
static uint32_t get_frame(struct chains *c, uint32_t from, bool *bad)
{
	uint64_t code = next(c, CALLEE, bad), known;
	uint32_t to;

	if (code >= MZ_CALLEE_LISTED) {
		to = mz_callees_listed(&c->callees, from, code - MZ_CALLEE_LISTED);
		*bad |= to == MZ_CALLEE_NONE;
		return to;
	}
	if (code == MZ_CALLEE_KNOWN) {
		known = next(c, KNOWN, bad);
		*bad |= known >= c->callees.n;
		to = (uint32_t)known;
	} else {
		c->ip += mz_unzigzag(next(c, NEW, bad));
		to = mz_callees_add(&c->callees, c->ip);
	}
	if (*bad || to == MZ_CALLEE_NONE || mz_callees_append(&c->callees, from, to) < 0)
		return MZ_CALLEE_NONE;
	return to;
}

static int add_frame(struct chains *c, struct mz_stack_tree *t, uint32_t parent)
{
	uint32_t from = caller(c, parent), to;
	bool bad = false;

	if (from == MZ_CALLEE_NONE)
		return -ENOMEM;
	if (mz_stack_tree_depth(t, parent) >= MZ_WIRE_MAX_DEPTH)
		return -EBADMSG;
	to = get_frame(c, from, &bad);
	if (to == MZ_CALLEE_NONE)
		return bad ? -EBADMSG : -ENOMEM;
	c->number[t->nodes + 1 - c->first] = to;
	return mz_stack_tree_add_node(t, parent, c->callees.v[to].ip);
}

/* The caller of the next chain. */
static uint32_t get_caller(struct chains *c, const struct mz_stack_tree *t, bool *bad)
{
	uint64_t up = next(c, UP, bad), far;
	uint32_t node = t->nodes;

	if (!up) {
		far = next(c, FAR, bad);
		*bad |= far > node;
		return *bad ? 0 : node - (uint32_t)far;
	}
	*bad |= up > MAX_UP || up > mz_stack_tree_depth(t, node);
	for (; up && !*bad; up--)
		node = mz_stack_tree_parent(t, node);
	return node;
}

static int add_chain(struct chains *c, struct mz_stack_tree *t)
{
	bool bad = false;
	uint32_t parent = get_caller(c, t, &bad);
	uint64_t more = next(c, LENGTH, &bad);
	int ret;

	if (bad || more >= c->v[CALLEE].n - c->at[CALLEE])
		return -EBADMSG;
	do {
		ret = add_frame(c, t, parent);
		parent = t->nodes;
	} while (!ret && more--);
	return ret;
}

static int add_ends(struct chains *c, struct mz_stack_tree *t)
{
	uint64_t high = c->first - 1;
	int ret = 0;

	for (uint32_t i = 0; i < c->v[END].n && !ret; i++) {
		uint64_t end = c->v[END].v[i], node = high + mz_unzigzag(end - 1);

		if (!end)
			node = high < t->nodes ? c->last[high + 1 - c->first] : UINT64_MAX;
		ret = node > t->nodes ? -EBADMSG : mz_stack_tree_add_stack(t, (uint32_t)node);
		high = node > high ? node : high;
	}
	return ret;
}

static int unpack_chains(struct chains *c, struct mz_packer *pk, struct mz_bytes *in)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		int ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0,
						 &c->v[i]);

		if (ret < 0)
			return ret;
	}
	return in->p == in->end ? 0 : -EBADMSG;
}

static int add_chains(struct chains *c, struct mz_stack_tree *t)
{
	int ret = start_chains(c, t->nodes + 1, c->v[CALLEE].n);

	while (!ret && c->at[UP] < c->v[UP].n)
		ret = add_chain(c, t);
	for (unsigned i = 0; i < END && !ret; i++)
		ret = c->at[i] == c->v[i].n ? 0 : -EBADMSG;
	if (ret < 0)
		return ret;
	find_ends(c, t);
	return add_ends(c, t);
}

int mz_chains_get(struct mz_stack_tree *t, struct mz_packer *pk, const void *payload, size_t size,
		  uint64_t lost)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size};
	uint64_t node = mz_bytes_number(&in), stack = mz_bytes_number(&in);
	struct chains c = {0};
	int ret = in.bad ? -EBADMSG : unpack_chains(&c, pk, &in);

	if (!ret)
		ret = skip_lost(t, node, stack, lost);
	if (!ret)
		ret = add_chains(&c, t);
	free_chains(&c);
	return ret;
}

/* ---- reading the tree of version 2.1 ------------------------------------ */

struct columns {
	struct mz_codec_column parent, ip, stack;
};

static void free_columns(struct columns *c)
{
	mz_codec_column_free(&c->parent);
	mz_codec_column_free(&c->ip);
	mz_codec_column_free(&c->stack);
}

static int get_columns(struct columns *c, struct mz_packer *pk, struct mz_bytes *in)
{
	int ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0, &c->parent);

	if (!ret)
		ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0, &c->ip);
	if (!ret)
		ret = mz_codec_column_unpack(pk, in, MZ_WIRE_MAX_FRAMES, false, NULL, 0, &c->stack);
	return ret ? ret : c->parent.n != c->ip.n || in->p != in->end ? -EBADMSG : 0;
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
