/* SPDX-License-Identifier: BSD-2-Clause */
/* KMAPs in other forms: containers, the lines of upstream's kernels, parts and unions. */
#ifndef MZ_EXPORT_KMAP_H
#define MZ_EXPORT_KMAP_H

#include "analysis/kmap_owned.h"
#include "analysis/kmap_union.h"
#include "formats/kmap_events.h"

/* ---- a container (kmap_container.c) ------------------------------------------------------ */

struct mz_kmap_container {
	struct mz_writer *w; /* NULL: not open */
	struct mz_kmap_packer packer;
};

/* All: 0 or -errno with err set. path NULL: standard output. */
int mz_kmap_container_open(struct mz_kmap_container *c, const char *path, bool best, bool overwrite,
			   struct mz_error *err);
int mz_kmap_container_put(struct mz_kmap_container *c, const struct mz_kmap_record *rec,
			  struct mz_error *err);
/* files_cut: of the maps that were written (trace/early_end.h). */
int mz_kmap_container_close(struct mz_kmap_container *c, unsigned files_cut, struct mz_error *err);
/* Leaves no file; fine on a closed one, and needed after it. */
void mz_kmap_container_abort(struct mz_kmap_container *c);

/* ---- another form of the same map (kmap_convert.c) --------------------------------------- */

enum mz_kmap_to {
	MZ_KMAP_TO_CONTAINER,
	MZ_KMAP_TO_LINES, /* its own */
	MZ_KMAP_TO_G2,	  /* 10 fields */
	MZ_KMAP_TO_G3	  /* 11 fields */
};

struct mz_kmap_convert_options {
	enum mz_kmap_to to;
	const char *output; /* NULL: standard output */
	bool best, overwrite;
	/* Called from time to time, with the lines so far; NULL = not */
	void (*progress)(void *arg, double share, uint64_t lines);
	void *arg;
};

/* Reads the map to its end. 0 or -errno with err set. */
int mz_kmap_convert(struct mz_kmap *in, const struct mz_kmap_convert_options *o,
		    struct mz_error *err);

/* ---- a union (kmap_union.c) -------------------------------------------------------------- */

/* A finished union as lines, or as a container. output NULL: standard output. 0 or -errno. */
int mz_union_write_lines(struct mz_union *u, const char *output, bool overwrite,
			 struct mz_error *err);
int mz_union_write_container(struct mz_union *u, const char *output, bool overwrite,
			     struct mz_error *err);

/* ---- the part of some owners (kmap_part.c) ----------------------------------------------- */

struct mz_kmap_part_options {
	const char *cgroup; /* see mz_kmap_group_is() */
	uint64_t pidns;
	const char *output; /* NULL: standard output */
	bool overwrite;
};

struct mz_kmap_amount {
	uint64_t objects, accesses, calls;
};

struct mz_kmap_part {
	struct mz_kmap_amount all, kept;
	struct mz_kmap_amount unknown; /* left out, because they have no owner */
	uint64_t touched; /* objects that others allocated, and that are kept for their accesses */
};

/* Writes the lines of the owners that are selected. 0 or -errno with err set. */
int mz_kmap_write_part(struct mz_kmap_owned *m, const struct mz_kmap_part_options *o,
		       struct mz_kmap_part *part, struct mz_error *err);

#endif
