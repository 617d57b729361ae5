/* SPDX-License-Identifier: BSD-2-Clause */
/* A KMAP with its symbols, read into the model: how every verb that asks it begins. */
#ifndef MZ_CMDS_KMAP_LOAD_H
#define MZ_CMDS_KMAP_LOAD_H

#include "analysis/kmap.h"
#include "cmds/cmd.h"

struct kmap_load {
	const char *path;    /* "-": standard input */
	const char *symbols; /* files and folders, with commas between; NULL: those beside it */
	bool skip_bad;
	enum mz_kmap_by by;
	bool or_function; /* by function instead, if no folders are known */
};

/* The symbols of a kernel for the recording at path: those named (files and folders,
 * with commas between), else those beside it; both: the named ones go before. NULL in
 * *symbols: there are none. 0, or -1 with the error told. */
int kmap_symbols(const char *path, const char *named, bool both, struct mz_symbols **symbols,
		 struct mz_error *err);

/* 0, or -1 with the error told. Deinit the model in both cases. */
int kmap_load(struct mz_kmap_model *m, const struct kmap_load *o);

#endif
