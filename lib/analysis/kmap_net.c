// SPDX-License-Identifier: BSD-2-Clause
/* Build the net of functions of a KMAP: its nodes, and the links between them. */
#include "analysis/kmap_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap.h"
#include "base/array.h"

#define SMALLER "(smaller ones)"
#define NAME	320

static uint32_t text_id(struct mz_kmap_net *n, const char *text)
{
	return mz_tables_string(n->texts, text, strlen(text));
}

static const char *text_of(const struct mz_kmap_net *n, uint32_t id)
{
	return mz_tables_get_string(n->texts, id, NULL);
}

/* ---- nodes ------------------------------------------------------------------------- */

/* The node of these names; MZ_PAIR_INDEX_NONE = no memory. */
static uint32_t node_of(struct mz_kmap_net *n, const char *dir, const char *file,
			const char *function)
{
	struct mz_kmap_net_node x = {text_id(n, dir), text_id(n, file), text_id(n, function)};
	uint32_t in = x.dir && x.file && x.function
			      ? mz_pair_index_put(&n->file_keys, x.dir, x.file)
			      : MZ_PAIR_INDEX_NONE;
	uint32_t id = in == MZ_PAIR_INDEX_NONE ? MZ_PAIR_INDEX_NONE
					       : mz_pair_index_put(&n->node_keys, in, x.function);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&n->nodes, &n->cap_nodes, id, sizeof(*n->nodes)))
		return MZ_PAIR_INDEX_NONE;
	n->nodes[id] = x;
	return id;
}

/* The node that stands for the small nodes of the same directory, or of the same file. */
static uint32_t rest_of(struct mz_kmap_net *n, uint32_t of, bool of_file)
{
	const struct mz_kmap_net_node x = n->nodes[of];

	return node_of(n, text_of(n, x.dir), of_file ? text_of(n, x.file) : SMALLER, SMALLER);
}

/* The node of a place or a class, by the function that names these. */
static uint32_t name_one(struct mz_kmap_net *n, uint32_t id,
			 char *(*name)(const struct mz_kmap_model *, uint32_t, enum mz_kmap_by,
				       char *, size_t))
{
	char dir[NAME], file[NAME], function[NAME];

	name(n->m, id, MZ_KMAP_BY_DIR, dir, sizeof(dir));
	name(n->m, id, MZ_KMAP_BY_FILE, file, sizeof(file));
	name(n->m, id, MZ_KMAP_BY_FUNCTION, function, sizeof(function));
	return node_of(n, dir, file, function);
}

/* Names the code and the classes of m. */
static int init(struct mz_kmap_net *n, const struct mz_kmap_model *m)
{
	*n = (struct mz_kmap_net){.m = m, .texts = mz_tables_new()};
	n->place_node = calloc(m->n_places + 1, sizeof(*n->place_node));
	n->class_node = calloc(m->n_classes + 1, sizeof(*n->class_node));
	if (!n->texts || !n->place_node || !n->class_node)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_places; i++) {
		n->place_node[i] = name_one(n, i, mz_kmap_place_name);
		if (n->place_node[i] == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->n_classes; i++) {
		n->class_node[i] = name_one(n, i, mz_kmap_class_name);
		if (n->class_node[i] == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	}
	return 0;
}

void mz_kmap_net_deinit(struct mz_kmap_net *n)
{
	mz_pair_index_deinit(&n->node_keys);
	mz_pair_index_deinit(&n->file_keys);
	mz_pair_index_deinit(&n->link_keys);
	free(n->nodes);
	free(n->links);
	free(n->place_node);
	free(n->class_node);
	free(n->own);
	mz_tables_free(n->texts);
}

/* ---- links ------------------------------------------------------------------------- */

/* Adds to the counts of a link: reads and writes, or pairs and calls, which share the members. */
static int add_link(struct mz_kmap_net *n, uint32_t from, uint32_t to, uint64_t reads,
		    uint64_t writes)
{
	uint32_t id = mz_pair_index_put(&n->link_keys, from, to);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&n->links, &n->cap_links, id, sizeof(*n->links)))
		return -ENOMEM;
	n->links[id].from = from;
	n->links[id].to = to;
	n->links[id].reads += reads;
	n->links[id].writes += writes;
	return 0;
}

static int busier_first(const void *x, const void *y)
{
	const struct mz_kmap_net_link *p = x, *q = y;

	return MZ_ORDER(q->reads + q->writes, p->reads + p->writes) ?: MZ_ORDER(p->from, q->from) ?: MZ_ORDER(p->to, q->to);
}

/* Keeps the largest links and adds up the others by directory: the sums there stay exact. */
static int fold(struct mz_kmap_net *n, size_t most)
{
	struct mz_kmap_net_link *old = n->links;
	size_t all = n->link_keys.count;
	int ret = 0;

	if (all)
		qsort(old, all, sizeof(*old), busier_first);
	mz_pair_index_deinit(&n->link_keys);
	n->link_keys = (struct mz_pair_index){0};
	n->links = NULL;
	n->cap_links = 0;
	for (size_t i = 0; i < all && !ret; i++) {
		struct mz_kmap_net_link x = old[i];

		if (i >= most) {
			x.from = rest_of(n, x.from, false);
			x.to = rest_of(n, x.to, false);
			n->folded++;
		}
		ret = x.from == MZ_PAIR_INDEX_NONE || x.to == MZ_PAIR_INDEX_NONE
			      ? -ENOMEM
			      : add_link(n, x.from, x.to, x.reads, x.writes);
	}
	free(old);
	return ret;
}

/* ---- accesses and calls ------------------------------------------------------------ */

int mz_kmap_net_of_accesses(struct mz_kmap_net *n, const struct mz_kmap_model *m, size_t most)
{
	int ret = init(n, m);

	for (size_t i = 0; i < m->n_edges && !ret; i++) {
		const struct mz_kmap_edge *e = &m->edges[i];

		ret = add_link(n, n->place_node[e->place], n->class_node[e->class], e->reads,
			       e->writes);
	}
	return ret ? ret : fold(n, most);
}

/* Reads and writes by node. */
struct touched {
	uint64_t reads, writes;
	bool shown; /* it calls or is called, by a link of the page */
};

static struct touched *touched_by_node(const struct mz_kmap_net *n)
{
	/* gather() may add a node for each one */
	struct touched *t = calloc(2 * (size_t)n->node_keys.count + 1, sizeof(*t));

	for (size_t i = 0; t && i < n->m->n_edges; i++) {
		struct touched *of = &t[n->place_node[n->m->edges[i].place]];

		of->reads += n->m->edges[i].reads;
		of->writes += n->m->edges[i].writes;
	}
	for (size_t i = 0; t && i < n->link_keys.count; i++)
		t[n->links[i].from].shown = t[n->links[i].to].shown = true;
	return t;
}

/* Code that is at neither end of a link in the page is added up by file. */
static int gather(struct mz_kmap_net *n, struct touched *t)
{
	uint32_t nodes = n->node_keys.count, at = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t to;

		if (t[i].shown || !(t[i].reads + t[i].writes))
			continue;
		to = rest_of(n, i, true);
		if (to == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
		if (to == i)
			continue;
		t[to].reads += t[i].reads;
		t[to].writes += t[i].writes;
		t[i].reads = t[i].writes = 0;
	}
	n->own = calloc(n->node_keys.count + 1, sizeof(*n->own));
	if (!n->own)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->node_keys.count; i++)
		if (t[i].reads + t[i].writes)
			n->own[at++] = (struct mz_kmap_net_accesses){i, t[i].reads, t[i].writes};
	n->n_own = at;
	return 0;
}

int mz_kmap_net_of_calls(struct mz_kmap_net *n, const struct mz_kmap_model *m, size_t most)
{
	struct touched *t;
	int ret = init(n, m);

	for (size_t i = 0; i < m->n_calls && !ret; i++)
		ret = add_link(n, n->place_node[m->calls[i].from], n->place_node[m->calls[i].to], 1,
			       m->calls[i].count);
	if (!ret)
		ret = fold(n, most);
	if (ret)
		return ret;
	t = touched_by_node(n);
	ret = t ? gather(n, t) : -ENOMEM;
	free(t);
	return ret;
}
