// SPDX-License-Identifier: BSD-2-Clause
/* Cluster functions and objects, greedily. */
/*
 * Of all pairs of clusters that touch each other, those are merged whose crossings cost most for
 * the privilege that the merger adds. Then single functions and objects move where that is better.
 *
 * What is minimized is J = sum over clusters of PS + sum over edges that cross of
 * (lambda * cost + PS of the check). Lambda is what one unit of cost is worth: the greedy order
 * goes from high to low, and stops at the budget.
 */
#include "analysis/privilege_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- the graph ---------------------------------------------------------------------------- */

static struct mz_cluster_weight *edge(struct mz_cluster_work *w, uint32_t a, uint32_t b, bool make)
{
	uint32_t lo = a < b ? a : b, hi = a < b ? b : a, id;

	id = make ? mz_pair_index_put(&w->edges, lo, hi) : mz_pair_index_get(&w->edges, lo, hi);
	if (id == MZ_PAIR_INDEX_NONE) {
		w->failed |= make;
		return NULL;
	}
	if (!mz_array_room((void **)&w->weights, &w->cap_weights, id, sizeof(*w->weights))) {
		w->failed = true;
		return NULL;
	}
	return &w->weights[id];
}

static void add_next(struct mz_cluster_work *w, uint32_t a, uint32_t b)
{
	struct mz_cluster_list *l = &w->next[a];

	if (!mz_array_room((void **)&l->of, &l->cap, l->n, sizeof(*l->of)))
		w->failed = true;
	else
		l->of[l->n++] = b;
}

static void connect(struct mz_cluster_work *w, uint32_t a, uint32_t b, double cost, double ps)
{
	size_t before = w->edges.count;
	struct mz_cluster_weight *e = a == b ? NULL : edge(w, a, b, true);

	if (!e)
		return;
	if (w->edges.count > before) {
		add_next(w, a, b);
		add_next(w, b, a);
	}
	e->cost += cost;
	e->ps += ps;
	w->total += cost;
}

static void add_accesses(struct mz_cluster_work *w)
{
	const struct mz_union *u = w->p->u;

	for (size_t i = 0; i < u->n_edges && !w->failed; i++) {
		const struct mz_union_edge *e = &u->edges[i];
		const struct mz_union_object *o = &u->objects[e->object];
		unsigned ops = (e->reads > 0) + (e->writes > 0) + (e->frees > 0);

		if (w->p->accessor[i] == MZ_FUNCTION_NONE || mz_union_is_open(o->kind))
			continue;
		connect(w, w->p->accessor[i], w->functions + e->object,
			w->o->access * (double)(e->reads + e->writes + e->frees),
			(double)o->size * ops);
	}
}

static void add_calls(struct mz_cluster_work *w)
{
	for (size_t i = 0; i < w->p->u->n_calls && !w->failed; i++) {
		uint64_t rets =
			w->p->caller[i] == MZ_FUNCTION_NONE || !w->p->returns[i]
				? 0
				: w->p->f->functions[w->p->callee[i]].ops[MZ_CODE_OP_RETURN];

		if (w->p->caller[i] != MZ_FUNCTION_NONE && w->p->u->calls[i].count)
			connect(w, w->p->caller[i], w->p->callee[i],
				w->o->call * (double)w->p->u->calls[i].count,
				MZ_CODE_TARGET * (1.0 + (double)rets));
	}
}

static void add_items(struct mz_cluster_work *w)
{
	for (uint32_t i = 0; i < w->nodes; i++)
		w->parent[i] = i;
	for (uint32_t i = 0; i < w->functions; i++) {
		const uint64_t *ops = w->p->ops[i];

		if (!w->p->live[i])
			continue;
		w->items[i] = (struct mz_cluster_item){
			.reads = (double)ops[MZ_CODE_OP_READ],
			.others = (double)(ops[MZ_CODE_OP_WRITE] + ops[MZ_CODE_OP_FREE]),
			.code = (double)w->p->f->functions[i].size};
		w->clusters++;
	}
	for (uint32_t i = w->functions; i < w->nodes; i++)
		w->items[i].data = (double)w->p->u->objects[i - w->functions].size;
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Cost saved per byte of added privilege; a merger that adds none comes first. */
static double score_of(struct mz_cluster_work *w, uint32_t a, uint32_t b)
{
	const struct mz_cluster_weight *e = edge(w, a, b, false);
	double ps;

	if (!e || e->cost <= 0)
		return -1;
	ps = mz_cluster_growth(&w->items[a], &w->items[b]) - e->ps;
	return ps > 1 ? e->cost / ps : e->cost * (2 - (ps > 0 ? ps : 0));
}

/* Equal scores: the smaller numbers, so that the order is always the same. */
static bool before(const struct mz_cluster_pair *x, const struct mz_cluster_pair *y)
{
	if (x->score != y->score)
		return x->score > y->score;
	return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static void push(struct mz_cluster_work *w, struct mz_cluster_pair p)
{
	size_t i = w->n_heap;

	if (p.score <= 0)
		return;
	if (!mz_array_room((void **)&w->heap, &w->cap_heap, i, sizeof(*w->heap))) {
		w->failed = true;
		return;
	}
	w->n_heap++;
	for (; i && before(&p, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = p;
}

static struct mz_cluster_pair pop(struct mz_cluster_work *w)
{
	struct mz_cluster_pair top = w->heap[0], last = w->heap[--w->n_heap];
	size_t i = 0;

	for (;;) {
		size_t c = 2 * i + 1;

		if (c >= w->n_heap)
			break;
		if (c + 1 < w->n_heap && before(&w->heap[c + 1], &w->heap[c]))
			c++;
		if (!before(&w->heap[c], &last))
			break;
		w->heap[i] = w->heap[c];
		i = c;
	}
	if (w->n_heap)
		w->heap[i] = last;
	return top;
}

static void push_pair(struct mz_cluster_work *w, uint32_t a, uint32_t b)
{
	push(w, (struct mz_cluster_pair){score_of(w, a, b), a < b ? a : b, a < b ? b : a});
}

/* The cluster with fewer neighbours goes into the other; its edges move along. */
static void merge(struct mz_cluster_work *w, uint32_t a, uint32_t b)
{
	uint32_t big = w->next[a].n >= w->next[b].n ? a : b, small = big == a ? b : a;
	struct mz_cluster_list *l = &w->next[small];
	struct mz_cluster_item *to = &w->items[big], *from = &w->items[small];

	w->clusters -= to->code > 0 && from->code > 0;
	w->cost -= edge(w, a, b, false)->cost;
	to->reads += from->reads;
	to->others += from->others;
	to->data += from->data;
	to->code += from->code;
	w->parent[small] = big;
	for (size_t i = 0; i < l->n && !w->failed; i++) {
		uint32_t x = l->of[i];
		const struct mz_cluster_weight *e =
			x == big || w->parent[x] != x ? NULL : edge(w, small, x, false);
		struct mz_cluster_weight moved;
		size_t count = w->edges.count;
		struct mz_cluster_weight *f;

		if (!e)
			continue;
		moved = *e;
		f = edge(w, big, x, true);
		if (!f)
			break;
		if (w->edges.count > count) {
			add_next(w, big, x);
			add_next(w, x, big);
		}
		f->cost += moved.cost;
		f->ps += moved.ps;
		push_pair(w, big, x);
	}
	free(l->of);
	*l = (struct mz_cluster_list){0};
}

/* Is it time to stop before the next merger? */
static bool is_enough(const struct mz_cluster_work *w, const struct mz_cluster_pair *next)
{
	if (w->o->domains && w->clusters <= w->o->domains)
		return true;
	if (w->o->budget >= 0)
		return w->cost <= w->o->budget;
	/* stop if the share of all costs that the merger saves no longer outweighs the share of all
	 * privilege that it adds */
	return w->total <= 0 || next->score < w->total / w->mono;
}

static void merge_all(struct mz_cluster_work *w)
{
	while (w->n_heap && !w->failed) {
		struct mz_cluster_pair top = pop(w);
		double now;

		if (w->parent[top.a] != top.a || w->parent[top.b] != top.b)
			continue;
		now = score_of(w, top.a, top.b);
		/* the clusters have grown since this score was computed: the pair waits for its
		 * turn */
		if (now != top.score) {
			if (w->n_heap && now < w->heap[0].score) {
				push_pair(w, top.a, top.b);
				continue;
			}
			top.score = now;
		}
		if (is_enough(w, &top))
			break;
		w->lambda = 1 / top.score;
		if (!mz_array_room((void **)&w->merges, &w->cap_merges, w->n_merges,
				   sizeof(*w->merges))) {
			w->failed = true;
			return;
		}
		w->merges[w->n_merges++] = (struct mz_cluster_pair){w->cost, top.a, top.b};
		merge(w, top.a, top.b);
	}
}

struct cluster_rest {
	double ps;
	uint32_t cluster;
};

static int by_ps(const void *a, const void *b)
{
	const struct cluster_rest *x = a, *y = b;

	if (x->ps != y->ps)
		return x->ps < y->ps ? -1 : 1;
	return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* If there are more clusters than requested when mergers no longer pay, the smallest are put
 * together. */
static void merge_rest(struct mz_cluster_work *w)
{
	uint32_t many = w->clusters > w->o->domains ? w->clusters - w->o->domains + 1 : 0, n = 0;
	struct cluster_rest *rest =
		many && w->o->domains ? malloc(w->clusters * sizeof(*rest)) : NULL;

	if (!many || !w->o->domains)
		return;
	w->failed |= !rest;
	for (uint32_t i = 0; rest && i < w->nodes; i++)
		if (w->parent[i] == i && w->items[i].code > 0 && n < w->clusters)
			rest[n++] =
				(struct cluster_rest){(w->items[i].reads + w->items[i].others) *
							      (w->items[i].data + w->items[i].code),
						      i};
	if (rest)
		qsort(rest, n, sizeof(*rest), by_ps);
	for (uint32_t i = 1; rest && i < many && i < n; i++) {
		struct mz_cluster_item *to = &w->items[rest[0].cluster],
				       *from = &w->items[rest[i].cluster];

		to->reads += from->reads;
		to->others += from->others;
		to->data += from->data;
		to->code += from->code;
		w->parent[rest[i].cluster] = rest[0].cluster;
		w->clusters--;
	}
	free(rest);
}

/* ---- the result --------------------------------------------------------------------------------
 */

/* Clusters with functions become domains, in the order of their first function. */
static int make_cut(struct mz_cluster_work *w, const uint32_t *cluster, struct mz_cut *c)
{
	uint32_t *number = malloc((w->nodes ? w->nodes : 1) * sizeof(*number)), n = 0;
	size_t objects = w->nodes - w->functions;
	char name[32];

	c->function = malloc((w->functions ? w->functions : 1) * sizeof(*c->function));
	c->owner = malloc((objects ? objects : 1) * sizeof(*c->owner));
	if (!number || !c->function || !c->owner) {
		free(number);
		return -ENOMEM;
	}
	memset(number, 0xff, w->nodes * sizeof(*number));
	for (uint32_t i = 0; i < w->functions; i++)
		if (w->p->live[i] && number[cluster[i]] == UINT32_MAX)
			number[cluster[i]] = n++;
	for (uint32_t i = 0; i < w->functions; i++)
		c->function[i] = w->p->live[i] ? number[cluster[i]] : n;
	for (uint32_t i = 0; i < objects; i++)
		c->owner[i] = number[cluster[w->functions + i]];
	c->n = n + 1; /* the last one is of dead code */
	for (uint32_t i = 0; i < c->n; i++) {
		int len = i < n ? snprintf(name, sizeof(name), "d%u", i + 1)
				: snprintf(name, sizeof(name), "(dead)");

		if (mz_bytes_index_put(&c->names, name, (size_t)len) == MZ_HASH_NONE) {
			free(number);
			return -ENOMEM;
		}
	}
	free(number);
	return 0;
}

/* Points of the curve are measured as the cut itself is: mergers are done again up to there. */
static int make_curve(struct mz_cluster_work *w, struct mz_cluster *k)
{
	unsigned points = w->o->points;
	size_t done = 0;

	if (!points)
		return 0;
	k->curve = calloc(points + 1, sizeof(*k->curve));
	if (!k->curve)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->nodes; i++)
		w->parent[i] = i;
	for (unsigned i = 0; i <= points; i++) {
		size_t to = w->n_merges * i / points;
		struct mz_cut c = {0};
		struct mz_cut_price price;
		int ret;

		for (; done < to; done++)
			w->parent[mz_cluster_find(w, w->merges[done].b)] =
				mz_cluster_find(w, w->merges[done].a);
		for (uint32_t x = 0; x < w->nodes; x++)
			w->parent[x] = mz_cluster_find(w, x);
		ret = make_cut(w, w->parent, &c);
		if (!ret)
			ret = mz_cut_weigh(w->p, &c, w->o, &price);
		mz_cut_deinit(&c);
		if (ret)
			return ret;
		k->curve[k->n_curve++] =
			(struct mz_cluster_point){price.domains, price.cost, price.ps};
	}
	return 0;
}

static bool allocate(struct mz_cluster_work *w)
{
	size_t n = w->nodes ? w->nodes : 1;

	w->items = calloc(n, sizeof(*w->items));
	w->parent = calloc(n, sizeof(*w->parent));
	w->next = calloc(n, sizeof(*w->next));
	return w->items && w->parent && w->next;
}

static void work_deinit(struct mz_cluster_work *w)
{
	for (uint32_t i = 0; w->next && i < w->nodes; i++)
		free(w->next[i].of);
	free(w->items);
	free(w->parent);
	free(w->next);
	free(w->weights);
	free(w->heap);
	free(w->merges);
	mz_pair_index_deinit(&w->edges);
}

static double mono_of(struct mz_privilege *p)
{
	uint64_t ps[MZ_CODE_OPS];

	mz_privilege_mono(p, true, true, ps);
	return (double)(ps[MZ_CODE_OP_READ] + ps[MZ_CODE_OP_WRITE] + ps[MZ_CODE_OP_FREE]) + 1;
}

/* The cut to start from, refined: if it leaves less privilege for no higher price, it is taken. */
static int improve_start(struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
			 const struct mz_cluster_item *own, struct mz_cluster *k)
{
	struct mz_cut_price found, other;
	uint32_t *start = mz_cluster_of_cut(w, n, w->o->start), *of;
	struct mz_cut c = {0};
	uint64_t moved = 0;
	int ret = start ? mz_cut_weigh(w->p, &k->cut, w->o, &found) : -ENOMEM;

	if (ret) {
		free(start);
		return ret;
	}
	mz_cluster_reset(w, n, own, start);
	/* privilege counts, within the budget; cost decides between equals */
	w->lambda = w->cost > 0 ? 0.01 * w->mono / w->cost : 1;
	of = mz_cluster_refine(w, n, own, start, &moved);
	free(start);
	ret = of ? make_cut(w, of, &c) : -ENOMEM;
	free(of);
	if (!ret)
		ret = mz_cut_weigh(w->p, &c, w->o, &other);
	if (!ret && other.ps < found.ps &&
	    (w->o->budget < 0 ? other.cost <= found.cost : other.cost <= w->o->budget)) {
		mz_cut_deinit(&k->cut);
		k->cut = c;
		k->cost = w->cost;
		k->moved = moved;
		return 0;
	}
	mz_cut_deinit(&c);
	return ret;
}

static int cluster(struct mz_cluster_work *w, struct mz_cluster *k)
{
	struct mz_cluster_neighbours n = {0};
	struct mz_cluster_item *own = NULL;
	uint32_t *of = NULL;
	size_t edges;
	int ret;

	add_items(w);
	add_accesses(w);
	add_calls(w);
	edges = w->edges.count;
	own = malloc((w->nodes ? w->nodes : 1) * sizeof(*own));
	if (w->failed || !own || !mz_cluster_neighbours_init(&n, w, edges)) {
		ret = -ENOMEM;
		goto out;
	}
	memcpy(own, w->items, w->nodes * sizeof(*own));
	w->cost = k->cost_before = w->total;
	w->mono = mono_of(w->p);
	for (size_t i = 0; i < edges && !w->failed; i++)
		push_pair(w, (uint32_t)w->edges.keys[i].a, (uint32_t)w->edges.keys[i].b);
	merge_all(w);
	merge_rest(w);
	of = w->failed ? NULL : mz_cluster_refine(w, &n, own, NULL, &k->moved);
	ret = of ? make_cut(w, of, &k->cut) : -ENOMEM;
	k->cost = w->cost;
	if (!ret && w->o->start)
		ret = improve_start(w, &n, own, k);
	if (!ret)
		ret = make_curve(w, k);
out:
	mz_cluster_neighbours_deinit(&n);
	free(own);
	free(of);
	return ret;
}

int mz_cluster_init(struct mz_cluster *k, struct mz_privilege *p,
		    const struct mz_cluster_options *o)
{
	struct mz_cluster_work w = {.p = p,
				    .o = o,
				    .functions = (uint32_t)p->f->n,
				    .nodes = (uint32_t)(p->f->n + p->u->n_objects)};
	int ret;

	*k = (struct mz_cluster){0};
	ret = allocate(&w) ? cluster(&w, k) : -ENOMEM;
	work_deinit(&w);
	return ret;
}

void mz_cluster_deinit(struct mz_cluster *k)
{
	mz_cut_deinit(&k->cut);
	free(k->curve);
	*k = (struct mz_cluster){0};
}
