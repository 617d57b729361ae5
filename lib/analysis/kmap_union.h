/* SPDX-License-Identifier: BSD-2-Clause */
/* The union of many KMAPs. */
/*
 * It consists of classes of objects, the code that reads, writes and frees them, and calls, as the
 * published privilege measures define them. Its size goes with the distinct classes and code
 * addresses of all maps; each map adds its counts and is forgotten.
 *
 * What one class is: all objects of an allocation site; a variable; the objects of a cache that
 * were constructed and not yet allocated; all thread stacks; and a few regions (enum below).
 */
#ifndef MZ_ANALYSIS_KMAP_UNION_H
#define MZ_ANALYSIS_KMAP_UNION_H

#include "analysis/kmap.h"

enum mz_union_kind {
	MZ_UNION_SITE,	     /* id: the allocating code */
	MZ_UNION_GLOBAL,     /* id: the variable's address */
	MZ_UNION_PREALLOCED, /* cache: its name */
	MZ_UNION_STACK,	     /* all thread stacks */
	MZ_UNION_MEMBLOCK,
	MZ_UNION_VMEMMAP,
	MZ_UNION_CODE, /* id: its address */
	MZ_UNION_FIXMAP,
	MZ_UNION_ANON_NONE,
	MZ_UNION_ANON_HEAP,
	MZ_UNION_OTHER, /* by type alone */
	MZ_UNION_KINDS
};

struct mz_union_object {
	enum mz_union_kind kind;
	uint64_t id;	      /* code or address, as linked; else 0 */
	uint64_t va;	      /* of the first object */
	uint32_t type, cache; /* strings of the union; 0 = none */
	uint32_t name, file;  /* strings: of a variable and its source, if they are known */
	uint64_t size;	      /* int(mean over the maps that hold it); of a variable: the first */
	uint32_t maps;	      /* that hold it */
	uint64_t least, most; /* size of one object, in all maps */
	/* private: sum of the sizes, and what the current map says */
	uint64_t sum, now, greatest;
	bool seen;
};

/* An instruction and a class. */
struct mz_union_edge {
	uint64_t ip;
	uint32_t object;
	uint64_t reads, writes, frees;
	uint16_t first, last; /* bytes that it touched; first > last: not known */
};

struct mz_union_call {
	uint64_t from, to, count;
};

struct mz_union_run {
	char *name;
	uint64_t objects, accesses, calls; /* objects of the map; lines of the others */
};

struct mz_union {
	struct mz_union_object *objects;
	struct mz_union_edge *edges;
	struct mz_union_call *calls;
	struct mz_union_run *runs;
	size_t n_objects, n_edges, n_calls, n_runs;
	struct mz_tables *strings;
	bool has_accesses, has_calls, has_ranges;
	unsigned files_cut; /* maps that end early (trace/early_end.h) */
	uint64_t dropped;   /* objects that are none: of the recorder itself, of users, errors */

	/* private */
	struct mz_pair_index object_index, edge_index, call_index;
	size_t cap_objects, cap_edges, cap_calls, cap_runs;
};

/* 0 or -ENOMEM. */
int mz_union_init(struct mz_union *u);
void mz_union_deinit(struct mz_union *u);
/* Adds a map that was read with options.lives. 0 or -ENOMEM. */
int mz_union_add(struct mz_union *u, const struct mz_kmap_model *m, const char *name);

/* All maps are added: classes, edges and calls get an order that does not depend on that of the
 * maps. 0 or -ENOMEM. */
int mz_union_finish(struct mz_union *u);

/* A finished union as records of a map. of: the object that
 * an access belongs to. put returns 0 or -errno, which ends it. */
typedef int mz_union_put(void *arg, const struct mz_kmap_record *rec,
			 const struct mz_kmap_object *of);
int mz_union_write(struct mz_union *u, mz_union_put *put, void *arg);

/* "" for 0. */
const char *mz_union_string(const struct mz_union *u, uint32_t id);
/* The name of a class in a file: its identity, without blanks; returns buf. */
char *mz_union_object_id(const struct mz_union *u, uint32_t object, char *buf, size_t size);

/* Code of modules: behind 512 MiB for the kernel, as upstream's kernels have it, or behind 1 GiB in
 * those that can be moved. (BPF programs lie there too.) */
static inline bool mz_union_is_module(uint64_t ip)
{
	return ip >> 28 == 0xffffffffau || (ip >= 0xffffffffc0000000u && ip < 0xffffffffff000000u);
}

#endif
