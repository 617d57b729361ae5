// SPDX-License-Identifier: BSD-2-Clause
/* Build the net of functions that a KMAP page shows as a matrix, and write it as JSON. */
#include "cmds/html/html_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/reader.h"

#define SMALLER "(smaller ones)"

/* ---- names ------------------------------------------------------------------------- */

uint32_t html_name_id(struct html_names *n, const char *text)
{
	return mz_tables_string(n->texts, text, strlen(text));
}

void html_names_json(struct mz_json *w, const struct html_names *n)
{
	w->out->failed |= mz_tables_incomplete(n->texts);
	mz_json_array(w, "names");
	mz_json_str(w, NULL, ""); /* 0 */
	for (uint32_t i = 1; i <= mz_tables_strings(n->texts); i++)
		html_json_name(w, NULL, mz_tables_get_string(n->texts, i, NULL));
	mz_json_end_array(w);
}

static const char *text_of(const struct html_net *n, uint32_t id)
{
	return mz_tables_get_string(n->texts.texts, id, NULL);
}

/* ---- nodes ------------------------------------------------------------------------- */

uint32_t html_net_node(struct html_net *n, const char *dir, const char *file, const char *function)
{
	struct html_node x = {html_name_id(&n->texts, dir), html_name_id(&n->texts, file),
			      html_name_id(&n->texts, function)};
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

uint32_t html_net_rest(struct html_net *n, uint32_t of, bool of_file)
{
	const struct html_node x = n->nodes[of];

	return html_net_node(n, text_of(n, x.dir), of_file ? text_of(n, x.file) : SMALLER, SMALLER);
}

/* The node of a place or a class, by the function that names these. */
static uint32_t name_one(struct html_net *n, uint32_t id,
			 char *(*name)(const struct mz_kmap_model *, uint32_t, enum mz_kmap_by,
				       char *, size_t))
{
	char dir[HTML_NAME], file[HTML_NAME], function[HTML_NAME];

	name(n->m, id, MZ_KMAP_BY_DIR, dir, sizeof(dir));
	name(n->m, id, MZ_KMAP_BY_FILE, file, sizeof(file));
	name(n->m, id, MZ_KMAP_BY_FUNCTION, function, sizeof(function));
	return html_net_node(n, dir, file, function);
}

int html_net_init(struct html_net *n, const struct mz_kmap_model *m)
{
	*n = (struct html_net){.m = m, .texts.texts = mz_tables_new()};
	n->place_node = calloc(m->n_places + 1, sizeof(*n->place_node));
	n->class_node = calloc(m->n_classes + 1, sizeof(*n->class_node));
	if (!n->texts.texts || !n->place_node || !n->class_node)
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

void html_net_deinit(struct html_net *n)
{
	mz_pair_index_deinit(&n->node_keys);
	mz_pair_index_deinit(&n->file_keys);
	mz_pair_index_deinit(&n->link_keys);
	free(n->nodes);
	free(n->links);
	free(n->place_node);
	free(n->class_node);
	mz_tables_free(n->texts.texts);
}

/* ---- links ------------------------------------------------------------------------- */

int html_net_link(struct html_net *n, uint32_t from, uint32_t to, uint64_t a, uint64_t b)
{
	uint32_t id = mz_pair_index_put(&n->link_keys, from, to);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&n->links, &n->cap_links, id, sizeof(*n->links)))
		return -ENOMEM;
	n->links[id].from = from;
	n->links[id].to = to;
	n->links[id].a += a;
	n->links[id].b += b;
	return 0;
}

static int busier_first(const void *x, const void *y)
{
	const struct html_link *p = x, *q = y;

	return MZ_ORDER(q->a + q->b, p->a + p->b) ?: MZ_ORDER(p->from, q->from) ?: MZ_ORDER(p->to, q->to);
}

int html_net_fold(struct html_net *n, size_t most)
{
	struct html_link *old = n->links;
	size_t all = n->link_keys.count;
	int ret = 0;

	if (all)
		qsort(old, all, sizeof(*old), busier_first);
	mz_pair_index_deinit(&n->link_keys);
	n->link_keys = (struct mz_pair_index){0};
	n->links = NULL;
	n->cap_links = 0;
	for (size_t i = 0; i < all && !ret; i++) {
		struct html_link x = old[i];

		if (i >= most) {
			x.from = html_net_rest(n, x.from, false);
			x.to = html_net_rest(n, x.to, false);
			n->folded++;
		}
		ret = x.from == MZ_PAIR_INDEX_NONE || x.to == MZ_PAIR_INDEX_NONE
			      ? -ENOMEM
			      : html_net_link(n, x.from, x.to, x.a, x.b);
	}
	free(old);
	return ret;
}

/* ---- the page ---------------------------------------------------------------------- */

/* The nodes that are used get the numbers 1, 2, ... */
struct numbers {
	struct html_names names;
	uint32_t *of, used;
};

static void use_node(struct mz_json *w, const struct html_net *n, struct numbers *u, uint32_t node)
{
	const struct html_node *x = &n->nodes[node];

	if (u->of[node])
		return;
	u->of[node] = ++u->used;
	mz_json_u64(w, NULL, html_name_id(&u->names, text_of(n, x->dir)));
	mz_json_u64(w, NULL, html_name_id(&u->names, text_of(n, x->file)));
	mz_json_u64(w, NULL, html_name_id(&u->names, text_of(n, x->function)));
}

static void nodes_json(struct mz_json *w, const struct html_net *n, struct numbers *u)
{
	mz_json_array(w, "nodes");
	for (size_t i = 0; i < n->link_keys.count; i++) {
		use_node(w, n, u, n->links[i].from);
		use_node(w, n, u, n->links[i].to);
	}
	for (size_t i = 0; i < n->n_deeds; i++)
		use_node(w, n, u, n->deeds[i].node);
	mz_json_end_array(w);
}

static void counts_json(struct mz_json *w, const struct html_net *n, const struct numbers *u)
{
	mz_json_array(w, "links");
	for (size_t i = 0; i < n->link_keys.count; i++) {
		mz_json_u64(w, NULL, u->of[n->links[i].from] - 1);
		mz_json_u64(w, NULL, u->of[n->links[i].to] - 1);
		mz_json_u64(w, NULL, n->links[i].a);
		mz_json_u64(w, NULL, n->links[i].b);
	}
	mz_json_end_array(w);
	if (!n->deeds)
		return;
	mz_json_array(w, "deeds");
	for (size_t i = 0; i < n->n_deeds; i++) {
		mz_json_u64(w, NULL, u->of[n->deeds[i].node] - 1);
		mz_json_u64(w, NULL, n->deeds[i].a);
		mz_json_u64(w, NULL, n->deeds[i].b);
	}
	mz_json_end_array(w);
}

void html_net_json(struct mz_json *w, const char *key, const struct html_net *n)
{
	struct numbers u = {.names.texts = mz_tables_new(),
			    .of = calloc(n->node_keys.count + 1, sizeof(*u.of))};

	if (u.names.texts && u.of) {
		mz_json_object(w, key);
		mz_json_u64(w, "folded", n->folded);
		nodes_json(w, n, &u);
		counts_json(w, n, &u);
		html_names_json(w, &u.names);
		mz_json_end_object(w);
	} else {
		w->out->failed = true;
	}
	free(u.of);
	mz_tables_free(u.names.texts);
}
