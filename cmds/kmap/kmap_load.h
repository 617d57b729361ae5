/* SPDX-License-Identifier: BSD-2-Clause */
/* A KMAP with its symbols, read into the model: how every verb that asks it begins. */
#ifndef MZ_CMDS_KMAP_KMAP_LOAD_H
#define MZ_CMDS_KMAP_KMAP_LOAD_H

#include "analysis/kmap.h"
#include "cmds/cmd.h"

struct kmap_load {
	const char *path;    /* "-": standard input */
	const char *symbols; /* files and folders, with commas between; NULL: those beside it */
	bool beside_too;     /* with symbols: those beside it as well */
	bool skip_bad;
	struct mz_heatmap *space; /* where objects lie; NULL = not asked for */
	bool types;		  /* the structures of its objects, where the symbols tell */
	enum mz_kmap_by by;
	bool or_function; /* by function instead, if no folders are known */
};

/* 0, or -1 with the error told. Deinit the model in both cases. */
int kmap_load(struct mz_kmap_model *m, const struct kmap_load *o);

/* The symbols alone; *symbols stays as it is if there are none. 0, or -1 with the error
 * told. */
int kmap_load_symbols(const struct kmap_load *o, struct mz_symbols **symbols, struct mz_error *err);

#endif
