/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that make the model of a KMAP share. */
#ifndef MZ_ANALYSIS_KMAP_BUILD_H
#define MZ_ANALYSIS_KMAP_BUILD_H

#include "analysis/kmap.h"

/* The text that was looked up last is often the next one as well. */
struct recent {
	char text[64];
	size_t len;
	uint32_t id;
};

/* The object that is being read: its accesses follow. */
struct current {
	bool open, freed;
	uint32_t class;
	uint32_t owner;	 /* of pairs: the class; by process: the one that allocated */
	uint32_t serial; /* never 0 */
	uint64_t size, reads, writes;
	uint32_t dir;
	int32_t pid;
	bool touched, has_pid, dirs, processes, interrupt, process;
};

/* Accesses are collected, and entered many at a time (mz_pair_index_ask). */
#define GATHERED 64

struct mz_kmap_private {
	struct mz_pair_index classes, edges, freers, owners, processes, calls, places, kinds;
	size_t cap_classes, cap_edges, cap_freers, cap_owners, cap_processes, cap_calls, cap_places,
		cap_lives;
	/* by edge: serial of the last object, its pair, the folder of the code */
	struct edge_state {
		uint32_t serial, pair, dir;
	} * states;
	size_t cap_states;
	struct recent comm, type, cache;
	struct current now;
	struct mz_kmap_access gathered[GATHERED]; /* of the current object */
	size_t n_gathered;
	/* by pair: serials of the last object touched, read, written */
	struct last {
		uint32_t touched, read, written;
	} * last;
	size_t cap_last;
	struct mz_pair_index pairs, groups, touching;
	int32_t last_pid; /* that touched something */
	bool pids, lives;
	struct mz_heatmap *space; /* NULL = not wanted; while reading */
	size_t cap_pairs, cap_groups;
	struct mz_symbols *symbols;
	uint32_t *last_of; /* by number of by_pid: the process of that number that was seen last */
	size_t cap_last_of;
	struct mz_pair_index by_pid;
};

/* Makes room for a member of an array of the model. */
#define ROOM(m, what, at)                                                                          \
	mz_array_room((void **)&(m)->what, &(m)->own->cap_##what, at, sizeof(*(m)->what))

/* kmap_places.c: numbers of texts (0 = no text; whether memory ran out is checked in the table when
 * the map is read), of code and of groups (MZ_PAIR_INDEX_NONE = no memory). */
uint32_t mz_kmap_text_id(struct mz_kmap_model *m, const char *s);
uint32_t mz_kmap_recent_id(struct mz_kmap_model *m, struct recent *r, struct mz_kmap_text t);
uint32_t mz_kmap_place_id(struct mz_kmap_model *m, uint64_t ip);
/* Of a function that begins at ip, where an access cannot be. */
uint32_t mz_kmap_entry_id(struct mz_kmap_model *m, uint64_t ip);
uint32_t mz_kmap_group_id(struct mz_kmap_model *m, uint32_t key, unsigned kind);
/* At the end: the names of processes. 0 or -ENOMEM. */
int mz_kmap_name_processes(struct mz_kmap_model *m);

/* kmap_access.c: 0 or -ENOMEM. */
int mz_kmap_add_freer(struct mz_kmap_model *m, uint32_t class, uint64_t ip, uint64_t objects);
int mz_kmap_add_access(struct mz_kmap_model *m, const struct mz_kmap_access *a);
int mz_kmap_add_call(struct mz_kmap_model *m, const struct mz_kmap_call *c);
/* All accesses of the current object have been read. */
int mz_kmap_enter_gathered(struct mz_kmap_model *m);

static inline void mz_kmap_add_sum(struct mz_kmap_sum *s, uint64_t bytes)
{
	s->objects++;
	s->bytes += bytes;
}

#endif
