// SPDX-License-Identifier: BSD-2-Clause
/* Refine clusters: move single functions and objects where that is better. */
#include <stdlib.h>
#include <string.h>

#include "analysis/privilege_work.h"

#define PASSES 4 /* later ones change nothing worth the time */

/* Change of J if the node leaves its cluster `from` for `to`. */
static double gain_of(const struct mz_cluster_work *w, const struct mz_cluster_item *x,
		      uint32_t from, uint32_t to, const struct mz_cluster_weight *here,
		      const struct mz_cluster_weight *there)
{
	struct mz_cluster_item rest = w->items[from];

	rest.reads -= x->reads;
	rest.others -= x->others;
	rest.data -= x->data;
	rest.code -= x->code;
	return mz_cluster_growth(&rest, x) - mz_cluster_growth(&w->items[to], x) -
	       (w->lambda * here->cost + here->ps) + (w->lambda * there->cost + there->ps);
}

bool mz_cluster_neighbours_init(struct mz_cluster_neighbours *n, const struct mz_cluster_work *w,
				size_t edges)
{
	n->at = calloc((size_t)w->nodes + 2, sizeof(*n->at));
	n->to = malloc((2 * edges + 1) * sizeof(*n->to));
	n->weights = malloc((2 * edges + 1) * sizeof(*n->weights));
	if (!n->at || !n->to || !n->weights)
		return false;
	for (size_t i = 0; i < edges; i++) {
		n->at[w->edges.keys[i].a + 2]++;
		n->at[w->edges.keys[i].b + 2]++;
	}
	for (size_t i = 2; i <= (size_t)w->nodes + 1; i++)
		n->at[i] += n->at[i - 1];
	for (size_t i = 0; i < edges; i++) {
		uint32_t a = (uint32_t)w->edges.keys[i].a, b = (uint32_t)w->edges.keys[i].b;
		size_t to = n->at[a + 1]++, back = n->at[b + 1]++;

		n->to[to] = b;
		n->to[back] = a;
		n->weights[to] = n->weights[back] = w->weights[i];
	}
	return true;
}

void mz_cluster_neighbours_deinit(struct mz_cluster_neighbours *n)
{
	free(n->at);
	free(n->to);
	free(n->weights);
}

struct mz_cluster_refiner {
	struct mz_cluster_work *w;
	struct mz_cluster_item *own;	/* by node: its own figures */
	uint32_t *cluster;		/* by node */
	uint32_t *members;		/* by cluster: functions in it */
	struct mz_cluster_weight *sums; /* by cluster: edges of the node at hand */
	uint32_t *touched;
	uint64_t moved;
};

static void sum_edges(struct mz_cluster_refiner *r, const struct mz_cluster_neighbours *n,
		      uint32_t x, size_t *count)
{
	*count = 0;
	for (size_t i = n->at[x]; i < n->at[x + 1]; i++) {
		uint32_t c = r->cluster[n->to[i]];

		if (!r->sums[c].cost && !r->sums[c].ps)
			r->touched[(*count)++] = c;
		r->sums[c].cost += n->weights[i].cost;
		r->sums[c].ps += n->weights[i].ps;
	}
}

static void move(struct mz_cluster_refiner *r, uint32_t x, uint32_t to)
{
	struct mz_cluster_work *w = r->w;
	struct mz_cluster_item *a = &w->items[r->cluster[x]], *b = &w->items[to];
	const struct mz_cluster_item *own = &r->own[x];

	w->cost += r->sums[r->cluster[x]].cost - r->sums[to].cost;
	a->reads -= own->reads;
	a->others -= own->others;
	a->data -= own->data;
	a->code -= own->code;
	b->reads += own->reads;
	b->others += own->others;
	b->data += own->data;
	b->code += own->code;
	if (mz_cluster_is_function(w, x)) {
		r->members[r->cluster[x]]--;
		r->members[to]++;
	}
	r->cluster[x] = to;
	r->moved++;
}

/* The best other cluster of a node, or its own. */
static void improve(struct mz_cluster_refiner *r, const struct mz_cluster_neighbours *n, uint32_t x)
{
	struct mz_cluster_work *w = r->w;
	uint32_t from = r->cluster[x], best = from;
	double most = 0;
	size_t count;

	sum_edges(r, n, x, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t to = r->touched[i];
		double gain;

		/* a domain must keep a function, or there would be fewer domains than requested */
		if (to == from ||
		    (mz_cluster_is_function(w, x) && (r->members[from] < 2 || !r->members[to])))
			continue;
		if (w->o->budget >= 0 &&
		    w->cost + r->sums[from].cost - r->sums[to].cost > w->o->budget)
			continue;
		gain = gain_of(w, &r->own[x], from, to, &r->sums[from], &r->sums[to]);
		if (gain > most || (gain == most && best != from && to < best)) {
			most = gain;
			best = to;
		}
	}
	if (best != from)
		move(r, x, best);
	for (size_t i = 0; i < count; i++)
		r->sums[r->touched[i]] = (struct mz_cluster_weight){0, 0};
}

static bool refiner_init(struct mz_cluster_refiner *r, struct mz_cluster_work *w)
{
	*r = (struct mz_cluster_refiner){.w = w,
					 .own = calloc(w->nodes, sizeof(*r->own)),
					 .cluster = malloc(w->nodes * sizeof(*r->cluster)),
					 .members = calloc(w->nodes, sizeof(*r->members)),
					 .sums = calloc(w->nodes, sizeof(*r->sums)),
					 .touched = malloc(w->nodes * sizeof(*r->touched))};
	return r->own && r->cluster && r->members && r->sums && r->touched;
}

static void refiner_deinit(struct mz_cluster_refiner *r)
{
	free(r->own);
	free(r->members);
	free(r->sums);
	free(r->touched);
}

uint32_t *mz_cluster_refine(struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
			    const struct mz_cluster_item *own, const uint32_t *start,
			    uint64_t *moved)
{
	struct mz_cluster_refiner r;

	if (!refiner_init(&r, w)) {
		w->failed = true;
		refiner_deinit(&r);
		free(r.cluster);
		return NULL;
	}
	memcpy(r.own, own, w->nodes * sizeof(*own));
	for (uint32_t i = 0; i < w->nodes; i++) {
		r.cluster[i] = start ? start[i] : mz_cluster_find(w, i);
		r.members[r.cluster[i]] += mz_cluster_is_function(w, i) && w->p->live[i];
	}
	for (int pass = 0; pass < PASSES && w->lambda > 0; pass++) {
		uint64_t before_pass = r.moved;

		for (uint32_t i = 0; i < w->nodes; i++)
			if (!mz_cluster_is_function(w, i) || w->p->live[i])
				improve(&r, n, i);
		if (r.moved == before_pass)
			break;
	}
	*moved = r.moved;
	refiner_deinit(&r);
	return r.cluster;
}

/* ---- from another cut ------------------------------------------------------------------------ */

/* The cluster that uses an object most, by cost; of several, the one with the lowest number. */
static uint32_t user_of(const struct mz_cluster_neighbours *n, uint32_t x, const uint32_t *cluster,
			struct mz_cluster_weight *sums)
{
	uint32_t best = x;

	for (size_t i = n->at[x]; i < n->at[x + 1]; i++)
		sums[cluster[n->to[i]]].cost += n->weights[i].cost;
	for (size_t i = n->at[x]; i < n->at[x + 1]; i++) {
		uint32_t c = cluster[n->to[i]];

		if (best == x || sums[c].cost > sums[best].cost ||
		    (sums[c].cost == sums[best].cost && c < best))
			best = c;
	}
	for (size_t i = n->at[x]; i < n->at[x + 1]; i++)
		sums[cluster[n->to[i]]].cost = 0;
	return best;
}

/* The clusters of a cut, each named by its first live function. */
uint32_t *mz_cluster_of_cut(const struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
			    const struct mz_cut *c)
{
	uint32_t *of = malloc((w->nodes ? w->nodes : 1) * sizeof(*of));
	uint32_t *first = malloc((c->n ? c->n : 1) * sizeof(*first));
	struct mz_cluster_weight *sums = calloc(w->nodes ? w->nodes : 1, sizeof(*sums));
	bool ok = of && first && sums;

	if (ok)
		memset(first, 0xff, c->n * sizeof(*first));
	for (uint32_t i = 0; ok && i < w->functions; i++) {
		if (w->p->live[i] && first[c->function[i]] == UINT32_MAX)
			first[c->function[i]] = i;
		of[i] = w->p->live[i] ? first[c->function[i]] : i;
	}
	for (uint32_t i = w->functions; ok && i < w->nodes; i++) {
		uint32_t owner = c->owner ? c->owner[i - w->functions] : UINT32_MAX;

		of[i] = !c->owner ? user_of(n, i, of, sums)
			: owner != UINT32_MAX && first[owner] != UINT32_MAX ? first[owner]
									    : i;
	}
	free(first);
	free(sums);
	if (ok)
		return of;
	free(of);
	return NULL;
}

/* Figures of the clusters, and the cost of what crosses. */
void mz_cluster_reset(struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
		      const struct mz_cluster_item *own, const uint32_t *of)
{
	memset(w->items, 0, w->nodes * sizeof(*w->items));
	w->cost = 0;
	for (uint32_t x = 0; x < w->nodes; x++) {
		struct mz_cluster_item *to = &w->items[of[x]];

		to->reads += own[x].reads;
		to->others += own[x].others;
		to->data += own[x].data;
		to->code += own[x].code;
		for (size_t i = n->at[x]; i < n->at[x + 1]; i++)
			w->cost += x < n->to[i] && of[x] != of[n->to[i]] ? n->weights[i].cost : 0;
	}
}
