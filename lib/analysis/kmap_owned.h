/* SPDX-License-Identifier: BSD-2-Clause */
/* A KMAP with owners. */
/* The owners often follow the objects, so the file is read once for them and then again. */
#ifndef MZ_ANALYSIS_KMAP_OWNED_H
#define MZ_ANALYSIS_KMAP_OWNED_H

#include "analysis/kmap_owners.h"

struct mz_kmap_owned {
	const char *path; /* no pipe */
	unsigned flags;	  /* enum mz_open_flags */
	bool skip_bad;	  /* lines that cannot be parsed are no error */
	struct mz_kmap_owners owners;
	unsigned files_cut; /* see mz_kmap_files_cut(); known once it is read */
};

/* Reads the owners of the file, which must have some. The caller has set the members above
 * owners. All: 0 or -errno with err set; close it in both cases. */
int mz_kmap_owned_open(struct mz_kmap_owned *m, struct mz_error *err);
void mz_kmap_owned_close(struct mz_kmap_owned *m);

/* Of each record: 0, or -errno with err set, which ends the reading. */
typedef int mz_kmap_owned_record(void *arg, const struct mz_kmap *k,
				 const struct mz_kmap_record *rec, struct mz_error *err);
/* Reads the file again, comments included. */
int mz_kmap_owned_each(struct mz_kmap_owned *m, mz_kmap_owned_record *fn, void *arg,
		       struct mz_error *err);
/* The same to add up its groups. */
int mz_kmap_owned_count(struct mz_kmap_owned *m, struct mz_error *err);

#endif
