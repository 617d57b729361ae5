/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `kmap`, and its tasks that are more than a question about one map. */
#ifndef MZ_CMDS_KMAP_OPTS_H
#define MZ_CMDS_KMAP_OPTS_H

#include "analysis/privilege.h"
#include "cmds/cmd.h"

struct kmap_opts {
	const char *by_name;
	const char *symbols;
	const char *functions;
	const char *cut;
	const char *output;
	const char *to, *table;
	const char *mechanism, *weights, *baseline, *check;
	const char *cgroup;
	uint64_t domains, budget, pidns;
	struct mz_opt_limit limit;
	bool skip_bad, json, csv, force;
};

/* Each: the arguments behind its name; returns enum mz_exit. */
int kmap_cut(const struct kmap_opts *o, int argc, char **argv);
int kmap_export(const struct kmap_opts *o, int argc, char **argv);
int kmap_functions(const struct kmap_opts *o, int argc, char **argv);
int kmap_merge(const struct kmap_opts *o, int argc, char **argv);
int kmap_owners(const struct kmap_opts *o, int argc, char **argv);
int kmap_select(const struct kmap_opts *o, int argc, char **argv);
int kmap_privilege(const struct kmap_opts *o, int argc, char **argv);

/* ---- kmap_load.c ------------------------------------------------------------------------ */

/* Maps, and the functions of their kernel. */
struct kmap_load {
	struct mz_union u;
	struct mz_functions f;
	struct mz_privilege p;
	char *vmlinux; /* that the functions were counted in; NULL: a table */
};

/* Adds the maps. 0 or -errno with err set. */
int kmap_load_maps(struct mz_union *u, const struct kmap_opts *o, int n, char **paths,
		   struct mz_error *err);
/* 0, or -errno if a file is no map at all; a pipe is not looked at. */
int kmap_check(const struct kmap_opts *o, char *path, struct mz_error *err);
/* Reads everything; free it in both cases. Reports what is left out, as notes. */
int kmap_load(struct kmap_load *l, const struct kmap_opts *o, int n, char **paths,
	      struct mz_error *err);
void kmap_load_free(struct kmap_load *l);

#endif
