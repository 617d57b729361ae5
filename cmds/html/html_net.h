/* SPDX-License-Identifier: BSD-2-Clause */
/* A net of functions with their directories and files, for a page of a KMAP: which code accesses
 * which code's objects, and which calls which. Each link has two counts. */
#ifndef CMDS_HTML_HTML_NET_H
#define CMDS_HTML_HTML_NET_H

#include "base/pair_index.h"
#include "cmds/html/html.h"

#define HTML_NAME 320

/* Texts of the page by number; only the used ones are written. */
struct html_names {
	struct mz_tables *texts;
};

uint32_t html_name_id(struct html_names *n, const char *text);
void html_names_json(struct mz_json *w, const struct html_names *n);

/* A function with its location: three names. */
struct html_node {
	uint32_t dir, file, function;
};

struct html_link {
	uint32_t from, to; /* nodes */
	uint64_t a, b;
};

/* What the code of a node does itself. */
struct html_deed {
	uint32_t node;
	uint64_t a, b;
};

struct html_net {
	const struct mz_kmap_model *m;
	struct html_names texts;
	struct mz_pair_index node_keys, file_keys, link_keys;
	struct html_node *nodes;
	struct html_link *links;
	uint32_t *place_node, *class_node; /* the nodes of the model's places and classes */
	struct html_deed *deeds;	   /* the caller's; NULL = none */
	size_t cap_nodes, cap_links, n_deeds, folded;
};

/* Names the code and the classes of m. 0 or -ENOMEM; deinit in both cases. */
int html_net_init(struct html_net *n, const struct mz_kmap_model *m);
void html_net_deinit(struct html_net *n);
/* The node of these names; MZ_PAIR_INDEX_NONE = no memory. */
uint32_t html_net_node(struct html_net *n, const char *dir, const char *file, const char *function);
/* The node that stands for the small nodes of the same directory, or of the same file. */
uint32_t html_net_rest(struct html_net *n, uint32_t of, bool of_file);
/* Adds to the counts of a link. */
int html_net_link(struct html_net *n, uint32_t from, uint32_t to, uint64_t a, uint64_t b);
/* Keeps the largest links and adds up the others by directory: the sums there stay exact. */
int html_net_fold(struct html_net *n, size_t most);
/* Writes only the nodes that links and deeds refer to, with new numbers. */
void html_net_json(struct mz_json *w, const char *key, const struct html_net *n);

#endif
