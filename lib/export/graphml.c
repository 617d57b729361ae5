// SPDX-License-Identifier: BSD-2-Clause
/* Write the domains of a cut, the objects, and what touches what, as GraphML. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "export/privilege.h"

/* A name as XML text: what XML cannot represent becomes a question mark. */
static void escape(struct mz_buf *b, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '<' || c == '>' || c == '&' || c == '"')
			mz_buf_printf(b, "&#%u;", c);
		else
			mz_buf_add(b, c < 0x20 || c >= 0x7f ? "?" : s, 1);
	}
}

/* The size lets a drawing show what a domain or an object weighs. */
static void put_node(struct mz_buf *b, char sort, uint32_t i, const char *kind, const char *name,
		     uint64_t size)
{
	mz_buf_printf(b, "<node id=\"%c%u\"><data key=\"kind\">%s</data><data key=\"name\">", sort,
		      i, kind);
	escape(b, name);
	mz_buf_printf(b, "</data><data key=\"size\">%" PRIu64 "</data></node>\n", size);
}

/* Functions are not nodes: a kernel has tens of thousands, and no layout shows them. */
static void put_nodes(struct mz_buf *b, const struct mz_privilege *p, const struct mz_cut *c)
{
	uint64_t *code = calloc(c->n ? c->n : 1, sizeof(*code));
	char id[320];

	b->failed |= !code;
	for (size_t i = 0; code && i < p->f->n; i++)
		code[c->function[i]] += p->f->functions[i].size;
	for (uint32_t i = 0; code && i < c->n; i++)
		put_node(b, 'd', i, "domain", mz_cut_name(c, i), code[i]);
	for (uint32_t i = 0; i < p->u->n_objects; i++)
		put_node(b, 'o', i, "object", mz_union_object_id(p->u, i, id, sizeof(id)),
			 p->u->objects[i].size);
	free(code);
}

struct sums {
	uint64_t reads, writes, frees, calls;
};

/* The second half of a key says what the link leads to: an object has its number in the lower half,
 * plus 1 so that it is not 0, and a domain in the upper half. */
struct domain_links {
	struct mz_pair_index index; /* domain, object + 1 or domain << 32 */
	struct sums *sums;
	size_t cap;
};

static struct sums *link(struct domain_links *l, uint32_t from, uint64_t to)
{
	uint32_t id = mz_pair_index_put(&l->index, from, to);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&l->sums, &l->cap, id, sizeof(*l->sums)))
		return NULL;
	return &l->sums[id];
}

/*
 * Domains are linked to the objects that they touch and to the domains that they call. Code in no
 * known function has no domain and is left out, as in the figures of the cut.
 */
static bool add_links(struct domain_links *l, const struct mz_privilege *p, const struct mz_cut *c)
{
	struct sums *s;

	for (size_t i = 0; i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];

		if (p->accessor[i] == MZ_FUNCTION_NONE)
			continue;
		s = link(l, c->function[p->accessor[i]], (uint64_t)e->object + 1);
		if (!s)
			return false;
		s->reads += e->reads;
		s->writes += e->writes;
		s->frees += e->frees;
	}
	for (size_t i = 0; i < p->u->n_calls; i++) {
		if (p->caller[i] == MZ_FUNCTION_NONE)
			continue;
		s = link(l, c->function[p->caller[i]], (uint64_t)c->function[p->callee[i]] << 32);
		if (!s)
			return false;
		s->calls += p->u->calls[i].count;
	}
	return true;
}

/* The order is that in which the pairs were met, so the same union gives the same file. */
static void put_edges(struct mz_buf *b, const struct domain_links *l)
{
	for (size_t i = 0; i < l->index.count; i++) {
		uint64_t to = l->index.keys[i].b;
		bool object = to & UINT32_MAX;

		mz_buf_printf(b, "<edge source=\"d%" PRIu64 "\" target=\"%c%" PRIu64 "\">",
			      l->index.keys[i].a, object ? 'o' : 'd', object ? to - 1 : to >> 32);
		if (object)
			mz_buf_printf(b,
				      "<data key=\"reads\">%" PRIu64
				      "</data><data key=\"writes\">%" PRIu64
				      "</data><data key=\"frees\">%" PRIu64 "</data>",
				      l->sums[i].reads, l->sums[i].writes, l->sums[i].frees);
		else
			mz_buf_printf(b, "<data key=\"calls\">%" PRIu64 "</data>",
				      l->sums[i].calls);
		mz_buf_str(b, "</edge>\n");
	}
}

/* GraphML wants each attribute to be declared before it is used. */
static void put_head(struct mz_buf *b)
{
	static const char *const keys[][3] = {
		{"kind", "node", "string"}, {"name", "node", "string"}, {"size", "node", "long"},
		{"reads", "edge", "long"},  {"writes", "edge", "long"}, {"frees", "edge", "long"},
		{"calls", "edge", "long"},
	};

	mz_buf_str(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		mz_buf_printf(b, "<key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
			      keys[i][0], keys[i][1], keys[i][0], keys[i][2]);
	mz_buf_str(b, "<graph edgedefault=\"directed\">\n");
}

int mz_export_graphml(const struct mz_privilege *p, const struct mz_cut *c, struct mz_output *out,
		      struct mz_error *err)
{
	struct mz_buf b = {0};
	struct domain_links l = {0};
	bool ok = add_links(&l, p, c);

	put_head(&b);
	put_nodes(&b, p, c);
	if (ok)
		put_edges(&b, &l);
	mz_buf_str(&b, "</graph>\n</graphml>\n");
	mz_pair_index_deinit(&l.index);
	free(l.sums);
	if (ok && !b.failed)
		return mz_export_put(&b, out, err);
	mz_buf_free(&b);
	return mz_fail_memory(err);
}
