/* SPDX-License-Identifier: BSD-2-Clause */
/* A KMAP that upstream's kernels write as two CSV files. */
/*
 * `allocations` has the objects, `accesses` has rows that name an object by its allocation index.
 * They are joined into lines of a KMAP here, so that nothing else needs to know of them.
 */
#ifndef MZ_FORMATS_KMAP_JOIN_H
#define MZ_FORMATS_KMAP_JOIN_H

#include "base/buf.h"
#include "base/input.h"

/* Do these first bytes of a file begin one of the two? */
bool mz_kmap_join_probe(const char *data, size_t len);

/* What could not be joined, for a note to the user. */
struct mz_kmap_joined {
	bool no_allocations; /* objects are known by their index alone */
	uint64_t ambiguous;  /* objects with the same index as an earlier one */
	uint64_t unknown;    /* indices of accesses that no object has */
};

/* Joins both files to lines of 11 fields. in is one of them; the other one is searched for beside
 * path, under the same name with `allocations` and `accesses` exchanged. 0 or -errno. */
int mz_kmap_join(struct mz_input *in, const char *path, struct mz_buf *lines,
		 struct mz_kmap_joined *joined, struct mz_error *err);

#endif
