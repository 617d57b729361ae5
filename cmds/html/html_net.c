// SPDX-License-Identifier: BSD-2-Clause
/* Write the net of functions that a KMAP page shows as a matrix as JSON. */
#include "cmds/html/html_net.h"

#include <stdlib.h>
#include <string.h>

#include "trace/reader.h"

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

static const char *text_of(const struct mz_kmap_net *n, uint32_t id)
{
	return mz_tables_get_string(n->texts, id, NULL);
}

/* ---- the page ---------------------------------------------------------------------- */

/* The nodes that are used get the numbers 1, 2, ... */
struct numbers {
	struct html_names names;
	uint32_t *of, used;
};

static void use_node(struct mz_json *w, const struct mz_kmap_net *n, struct numbers *u,
		     uint32_t node)
{
	const struct mz_kmap_net_node *x = &n->nodes[node];

	if (u->of[node])
		return;
	u->of[node] = ++u->used;
	mz_json_u64(w, NULL, html_name_id(&u->names, text_of(n, x->dir)));
	mz_json_u64(w, NULL, html_name_id(&u->names, text_of(n, x->file)));
	mz_json_u64(w, NULL, html_name_id(&u->names, text_of(n, x->function)));
}

static void nodes_json(struct mz_json *w, const struct mz_kmap_net *n, struct numbers *u)
{
	mz_json_array(w, "nodes");
	for (size_t i = 0; i < n->link_keys.count; i++) {
		use_node(w, n, u, n->links[i].from);
		use_node(w, n, u, n->links[i].to);
	}
	for (size_t i = 0; i < n->n_own; i++)
		use_node(w, n, u, n->own[i].node);
	mz_json_end_array(w);
}

static void counts_json(struct mz_json *w, const struct mz_kmap_net *n, const struct numbers *u)
{
	mz_json_array(w, "links");
	for (size_t i = 0; i < n->link_keys.count; i++) {
		mz_json_u64(w, NULL, u->of[n->links[i].from] - 1);
		mz_json_u64(w, NULL, u->of[n->links[i].to] - 1);
		mz_json_u64(w, NULL, n->links[i].reads);
		mz_json_u64(w, NULL, n->links[i].writes);
	}
	mz_json_end_array(w);
	if (!n->own)
		return;
	mz_json_array(w, "deeds");
	for (size_t i = 0; i < n->n_own; i++) {
		mz_json_u64(w, NULL, u->of[n->own[i].node] - 1);
		mz_json_u64(w, NULL, n->own[i].reads);
		mz_json_u64(w, NULL, n->own[i].writes);
	}
	mz_json_end_array(w);
}

void html_net_json(struct mz_json *w, const char *key, const struct mz_kmap_net *n)
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
