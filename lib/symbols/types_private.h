/* SPDX-License-Identifier: BSD-2-Clause */
/* Types as a graph of nodes, into which DWARF and BTF are converted as far as necessary. */
#ifndef MZ_SYMBOLS_TYPES_PRIVATE_H
#define MZ_SYMBOLS_TYPES_PRIVATE_H

#include "base/pair_index.h"
#include "symbols/types.h"

enum mz_type_kind { MZ_TYPE_SCALAR, MZ_TYPE_STRUCT, MZ_TYPE_UNION, MZ_TYPE_ARRAY };

struct mz_type_node {
	uint8_t kind;
	bool opaque;	/* a structure that the kernel hides behind a typedef: one thing */
	bool filled;	/* its members are there */
	bool flexible;	/* it ends with an array of any length; of filled ones */
	uint32_t name;	/* string */
	uint64_t size;	/* 0 = not known: any length */
	uint64_t from;	/* where the source has it */
	uint32_t first; /* of its members */
	uint32_t n;
};

struct mz_type_member {
	uint32_t name; /* string; 0 = none */
	uint32_t type;
	uint64_t offset;
	uint64_t size; /* of a bit-field: the bytes that it lies in; 0 = any length */
};

/* What a source does. Each returns 0 or -errno. */
struct mz_types_ops {
	const char *name;
	/* Adds the members of a structure: mz_types_add_member(). */
	int (*fill)(struct mz_types *t, uint32_t type);
	int (*ask)(struct mz_types *t, const struct mz_types_query *q, struct mz_types_answer *out);
	void (*close)(void *source);
};

struct mz_types {
	const struct mz_types_ops *ops;
	void *source;
	struct mz_pair_index known; /* by where the source has it, and opaque */
	struct mz_type_node *nodes;
	struct mz_type_member *members;
	size_t cap_nodes, cap_members, n_nodes, n_members;
	struct mz_tables *strings;
};

struct mz_types *mz_types_new(const struct mz_types_ops *ops, void *source);
/* The number of a node; *fresh: it is new, and to be described. MZ_TYPES_NONE: no memory. */
uint32_t mz_types_node(struct mz_types *t, uint64_t from, unsigned variant, bool *fresh);
/* 0: no name, or no memory, which mz_types_ask() and mz_types_fill() then report. */
uint32_t mz_types_string(struct mz_types *t, const char *s);
/* Between the start of fill() and its end nothing else may be filled. */
int mz_types_add_member(struct mz_types *t, uint32_t type, const char *name, uint32_t of,
			uint64_t offset, uint64_t size);
int mz_types_fill(struct mz_types *t, uint32_t type);

/* Could objects of these sizes be this structure? exact: not more than it. */
bool mz_types_fits(struct mz_types *t, uint32_t type, const struct mz_types_query *q, bool exact);

/* Candidates for the type of a site: one is the answer, several are none. */
struct mz_types_votes {
	uint32_t type[8];
	const char *by[8]; /* borrowed from the source */
	size_t n;
};
/* Structures of one name and size are one. */
void mz_types_vote(const struct mz_types *t, struct mz_types_votes *v, uint32_t type,
		   const char *by);
/* True: the votes decided, for a type or for none. */
bool mz_types_decide(const struct mz_types *t, const struct mz_types_votes *v,
		     enum mz_types_how how, struct mz_types_answer *out);

/* types_dwarf.c, types_btf.c: NULL with err set; ENODATA = there is none in it. */
struct mz_types *mz_types_open_dwarf(const char *path, struct mz_error *err);
struct mz_types *mz_types_open_btf(const char *path, struct mz_error *err);
struct mz_types *mz_types_open_btf_memory(const void *data, size_t size, const char *name,
					  struct mz_error *err);

#endif
