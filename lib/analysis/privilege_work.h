/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a clustering. */
/*
 * privilege_cluster.c merges clusters and makes the result, privilege_refine.c moves single nodes
 * between them.
 */
#ifndef MZ_ANALYSIS_PRIVILEGE_WORK_H
#define MZ_ANALYSIS_PRIVILEGE_WORK_H

#include "analysis/privilege_cluster.h"
#include "base/pair_index.h"

/* Nodes are functions, then objects. A cluster is named by one of its nodes. */
struct mz_cluster_weight {
	double cost; /* of the crossings between two clusters */
	double ps;   /* that checking them adds */
};

struct mz_cluster_item {
	double reads, others; /* instructions that read; that write or free */
	double data, code;    /* bytes */
};

/* A pair of clusters that might be merged. */
struct mz_cluster_pair {
	double score;
	uint32_t a, b;
};

struct mz_cluster_list {
	uint32_t *of;
	size_t n, cap;
};

struct mz_cluster_work {
	struct mz_privilege *p;
	const struct mz_cluster_options *o;
	uint32_t functions, nodes;
	struct mz_cluster_item *items;	   /* by cluster */
	uint32_t *parent;		   /* by node: union-find */
	struct mz_cluster_list *next;	   /* by cluster: clusters that it touches, or touched */
	struct mz_pair_index edges;	   /* (smaller, greater) */
	struct mz_cluster_weight *weights; /* by edge */
	size_t cap_weights;
	struct mz_cluster_pair *heap;
	size_t n_heap, cap_heap;
	struct mz_cluster_pair *merges; /* in their order */
	size_t n_merges, cap_merges;
	uint32_t clusters; /* that hold functions */
	double cost, total, lambda, mono;
	bool failed;
};

/* The cluster of a node. */
static inline uint32_t mz_cluster_find(struct mz_cluster_work *w, uint32_t x)
{
	while (w->parent[x] != x) {
		w->parent[x] = w->parent[w->parent[x]];
		x = w->parent[x];
	}
	return x;
}

static inline bool mz_cluster_is_function(const struct mz_cluster_work *w, uint32_t x)
{
	return x < w->functions;
}

/* Code of one cluster reaches the bytes of the other. Calls are not counted: what they reach is
 * code, which is small. */
static inline double mz_cluster_growth(const struct mz_cluster_item *a,
				       const struct mz_cluster_item *b)
{
	return a->reads * (b->data + b->code) + b->reads * (a->data + a->code) +
	       a->others * b->data + b->others * a->data;
}

/* Edges of the nodes, before anything was merged, by node. */
struct mz_cluster_neighbours {
	size_t *at;   /* by node: where its edges begin */
	uint32_t *to; /* the node at the other end */
	struct mz_cluster_weight *weights;
};

/* edges: how many of the edges to use, from the first on. False = no memory; to be freed in any
 * case. */
bool mz_cluster_neighbours_init(struct mz_cluster_neighbours *n, const struct mz_cluster_work *w,
				size_t edges);
void mz_cluster_neighbours_deinit(struct mz_cluster_neighbours *n);

/* Moves nodes of the clusters in start (by node; NULL: as they were merged) while that makes J
 * smaller. The clusters by node, which the caller frees; NULL and w->failed: no memory. */
uint32_t *mz_cluster_refine(struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
			    const struct mz_cluster_item *own, const uint32_t *start,
			    uint64_t *moved);
/* The clusters of a cut, each named by its first live function; the caller frees them. NULL = no
 * memory. */
uint32_t *mz_cluster_of_cut(const struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
			    const struct mz_cut *c);
/* Begin with these clusters: their figures, and the cost of what crosses. */
void mz_cluster_reset(struct mz_cluster_work *w, const struct mz_cluster_neighbours *n,
		      const struct mz_cluster_item *own, const uint32_t *of);

#endif
