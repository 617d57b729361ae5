/* SPDX-License-Identifier: BSD-2-Clause */
/* A cut that is found by clustering functions and objects. */
/*
 * They are divided into domains so that little privilege is left and crossing the boundaries costs
 * little. An object belongs to one domain at most, which uses it freely; what others do with it is
 * checked, and costs. So do calls between domains. Thread stacks, page structures and boot memory
 * are open to all.
 */
#ifndef MZ_ANALYSIS_PRIVILEGE_CLUSTER_H
#define MZ_ANALYSIS_PRIVILEGE_CLUSTER_H

#include "analysis/privilege.h"
#include "base/json.h"

struct mz_cluster_options {
	double access, call;	    /* cost of one that crosses; a call includes its return */
	uint32_t domains;	    /* no more than this; 0 = no limit */
	double budget;		    /* cost of all crossings, at most; < 0 = as many as pay */
	unsigned points;	    /* of the trade-off curve */
	const struct mz_cut *start; /* another cut, to be refined as well; NULL = none */
};

/* A cut on the way from each function alone to all in one. */
struct mz_cluster_point {
	uint32_t domains;
	double cost;
	uint64_t ps; /* live, W^X: of what is known */
};

struct mz_cluster {
	struct mz_cut cut;
	double cost, cost_before; /* of the cut; of each function alone */
	struct mz_cluster_point *curve;
	size_t n_curve;
	uint64_t moved; /* functions and objects that the refinement moved */
};

/* Sets the costs (privilege_costs.c): of a mechanism in a file, or a built-in one; mechanism NULL:
 * the first. 0 or -errno with err set. */
int mz_cut_costs(struct mz_cluster_options *o, const char *file, const char *mechanism,
		 struct mz_error *err);

/* 0 or -ENOMEM; deinit in both cases. Deterministic. */
int mz_cluster_init(struct mz_cluster *k, struct mz_privilege *p,
		    const struct mz_cluster_options *o);
void mz_cluster_deinit(struct mz_cluster *k);

/* The price of a cut. Objects without an owner are given to the domain that uses them most. */
struct mz_cut_price {
	double cost;
	uint64_t calls, accesses; /* that cross */
	uint64_t all_calls, all_accesses;
	uint64_t ps;	  /* live, W^X: of what is known */
	uint64_t mono;	  /* PSmono of the same operations, of all code */
	double psr;	  /* of the two */
	uint32_t domains; /* with live functions */
};
static inline double mz_cut_psr(const struct mz_cut_price *p, uint64_t ps)
{
	return p->mono ? (double)ps / (double)p->mono : 0;
}
int mz_cut_weigh(struct mz_privilege *p, const struct mz_cut *c, const struct mz_cluster_options *o,
		 struct mz_cut_price *price);
void mz_cut_price_json(const struct mz_cut_price *p, const char *key, struct mz_json *out);

#endif
