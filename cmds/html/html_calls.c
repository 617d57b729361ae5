// SPDX-License-Identifier: BSD-2-Clause
/* Write the calls of a KMAP page as JSON, with the accesses of the code at both ends. */
#include "cmds/html/html_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "cmds/html/html_net.h"

/* Reads and writes by node. */
struct touched {
	uint64_t reads, writes;
	bool shown; /* it calls or is called, by a link of the page */
};

static struct touched *touched_by_node(const struct html_net *n)
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
static int gather(struct html_net *n, struct touched *t)
{
	uint32_t nodes = n->node_keys.count, at = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t to;

		if (t[i].shown || !(t[i].reads + t[i].writes))
			continue;
		to = html_net_rest(n, i, true);
		if (to == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
		if (to == i)
			continue;
		t[to].reads += t[i].reads;
		t[to].writes += t[i].writes;
		t[i].reads = t[i].writes = 0;
	}
	n->deeds = calloc(n->node_keys.count + 1, sizeof(*n->deeds));
	if (!n->deeds)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->node_keys.count; i++)
		if (t[i].reads + t[i].writes)
			n->deeds[at++] = (struct html_deed){i, t[i].reads, t[i].writes};
	n->n_deeds = at;
	return 0;
}

int html_calls_json(struct mz_json *w, const struct mz_kmap_model *m, const struct html_limits *l)
{
	struct touched *t = NULL;
	struct html_net n;
	int ret;

	if (!m->n_calls)
		return 0;
	ret = html_net_init(&n, m);
	for (size_t i = 0; i < m->n_calls && !ret; i++)
		ret = html_net_link(&n, n.place_node[m->calls[i].from],
				    n.place_node[m->calls[i].to], 1, m->calls[i].count);
	if (!ret)
		ret = html_net_fold(&n, l->nodes);
	if (!ret) {
		t = touched_by_node(&n);
		ret = t ? gather(&n, t) : -ENOMEM;
	}
	if (!ret)
		html_net_json(w, "calls", &n);
	free(t);
	free(n.deeds);
	html_net_deinit(&n);
	return ret;
}
