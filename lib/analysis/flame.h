/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree of names with values, for flame graphs. Paths are added; those with the same beginning
 * share nodes. For a picture, nodes that are small in every value are folded into their parents. */
#ifndef MZ_ANALYSIS_FLAME_H
#define MZ_ANALYSIS_FLAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/pair_index.h"

struct mz_tables;

enum mz_flame_value {
	MZ_FLAME_PEAK,
	MZ_FLAME_TOTAL,
	MZ_FLAME_NEVER_FREED,
	MZ_FLAME_TEMPORARY, /* blocks; the others are bytes */
	MZ_FLAME_WASTED,
	MZ_FLAME_VALUES
};

struct mz_flame_node {
	uint32_t parent;		 /* always before it; the root is its own */
	uint32_t name;			 /* string of the tables */
	uint64_t value[MZ_FLAME_VALUES]; /* with all below */
};

struct mz_flame {
	struct mz_flame_node *nodes; /* [0] is the root */
	uint32_t count;
	size_t cap;
	struct mz_pair_index index; /* parent and name -> node */
	struct mz_tables *names;    /* borrowed */
};

/* 0 or -ENOMEM. The names stay the caller's. */
int mz_flame_init(struct mz_flame *f, struct mz_tables *names);
void mz_flame_deinit(struct mz_flame *f);

/* The path from the child of the root on, as strings of the tables. */
int mz_flame_add(struct mz_flame *f, const uint32_t *path, size_t depth,
		 const uint64_t value[MZ_FLAME_VALUES]);

/* Splits "fs/ext4/inode.c" into three names, at most `most`: how many. If one of them is 0,
 * there was no memory, which mz_flame_add() then reports. */
size_t mz_flame_split(struct mz_tables *names, const char *text, uint32_t *path, size_t most);

/* What is shown of a tree: the largest nodes. For each node, where it is drawn:
 * shown[i] is its number, or 0 where an ancestor stands for it. */
struct mz_flame_cut {
	uint32_t *shown; /* number + 1 */
	uint32_t kept;
	uint32_t folded; /* nodes that are not shown */
};

int mz_flame_cut(const struct mz_flame *f, uint32_t most, struct mz_flame_cut *cut);

#endif
