/* SPDX-License-Identifier: BSD-2-Clause */
/* A net of functions with their directories and files: which code accesses which code's objects in
 * a KMAP, or which calls which. Each link has two counts. */
#ifndef MZ_ANALYSIS_KMAP_NET_H
#define MZ_ANALYSIS_KMAP_NET_H

#include "base/pair_index.h"

struct mz_kmap_model;

/* A function with its location: three texts. */
struct mz_kmap_net_node {
	uint32_t dir, file, function;
};

struct mz_kmap_net_link {
	uint32_t from, to; /* nodes */
	union {
		uint64_t reads; /* in a net of accesses */
		uint64_t pairs; /* of caller and callee, in a net of calls */
	};
	union {
		uint64_t writes;
		uint64_t calls;
	};
};

/* What the code of a node does itself. */
struct mz_kmap_net_accesses {
	uint32_t node;
	uint64_t reads, writes;
};

struct mz_kmap_net {
	const struct mz_kmap_model *m;
	struct mz_tables *texts;
	struct mz_pair_index node_keys, file_keys, link_keys;
	struct mz_kmap_net_node *nodes;
	struct mz_kmap_net_link *links;
	uint32_t *place_node, *class_node; /* the nodes of the model's places and classes */
	struct mz_kmap_net_accesses *own;  /* by node, with calls; NULL = none */
	size_t cap_nodes, cap_links, n_own, folded;
};

/*
 * At most about `most` links, those with the highest counts: the others are added up by directory.
 * Counts of accesses are reads and writes; of calls, 1 for each caller and callee, and the calls.
 * With calls comes what the code of each node reads and writes. 0 or -ENOMEM; deinit in both cases.
 */
int mz_kmap_net_of_accesses(struct mz_kmap_net *n, const struct mz_kmap_model *m, size_t most);
int mz_kmap_net_of_calls(struct mz_kmap_net *n, const struct mz_kmap_model *m, size_t most);
void mz_kmap_net_deinit(struct mz_kmap_net *n);

#endif
