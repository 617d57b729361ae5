/* SPDX-License-Identifier: BSD-2-Clause */
/* The owners in a KMAP: the cgroups and pid namespaces of its processes. */
/*
 * A map whose kernel noted them (log_owners_enabled) says pid@owner in the place of a pid, and has
 * a comment for each owner:
 *
 *   #owner OWNER,PID,TASKS,PIDNS,CGROUP,COMM,PATH
 *
 * Owners with the same path and namespace are a group: a container, as a rule.
 */
#ifndef MZ_ANALYSIS_KMAP_OWNERS_H
#define MZ_ANALYSIS_KMAP_OWNERS_H

#include "analysis/result_table.h"
#include "base/bytes_index.h"
#include "base/pair_index.h"
#include "formats/kmap.h"

struct mz_kmap_group {
	uint32_t path; /* see mz_kmap_group_path() */
	uint32_t pidns;
	uint64_t owners;
	uint64_t objects, bytes; /* that its processes allocated */
	uint64_t reads, writes;
	uint64_t calls;
};

struct mz_kmap_owners {
	uint32_t *group; /* by owner */
	size_t n, cap;	 /* owners, 0 included, which is none */
	struct mz_kmap_group *groups;
	size_t n_groups, cap_groups; /* 0: interrupts, the boot, and what has no owner */
	struct mz_bytes_index paths;
	struct mz_pair_index index; /* path and pidns */
};

/* False: no memory. */
bool mz_kmap_owners_init(struct mz_kmap_owners *o);
void mz_kmap_owners_deinit(struct mz_kmap_owners *o);

/* Parses a comment of a map: 1 if it is an owner, 0 if it is something else, -EINVAL if it only
 * begins like an owner, -ENOMEM. Owners come in the order of their numbers, or again. */
int mz_kmap_owners_line(struct mz_kmap_owners *o, struct mz_kmap_text line);

/* 0: not known. */
uint32_t mz_kmap_owners_group(const struct mz_kmap_owners *o, uint32_t owner);
const char *mz_kmap_group_path(const struct mz_kmap_owners *o, uint32_t group);

/* Is it in the cgroup (a path and all below it if it begins with a slash; a shell pattern; else
 * a part of the path; NULL: in any) and the pid namespace (0: in any)? */
bool mz_kmap_group_is(const struct mz_kmap_owners *o, uint32_t group, const char *cgroup,
		      uint64_t pidns);

/* Counts a record of the map at its group. */
void mz_kmap_owners_count(struct mz_kmap_owners *o, const struct mz_kmap_record *rec);
void mz_kmap_owners_table(const struct mz_kmap_owners *o, struct mz_result_table *a);

#endif
