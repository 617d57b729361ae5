/* SPDX-License-Identifier: BSD-2-Clause */
/* Who does what with the objects of a class of a KMAP: the largest first. */
#ifndef MZ_ANALYSIS_KMAP_DEEDS_H
#define MZ_ANALYSIS_KMAP_DEEDS_H

#include <stddef.h>
#include <stdint.h>

struct mz_kmap_model;

struct mz_kmap_deed {
	uint32_t class, who; /* place, or process */
	uint64_t a, b;
};

struct mz_kmap_deeds {
	struct mz_kmap_deed *list; /* by class; no two with the same who */
	size_t n;
	uint32_t *first; /* by class: where its deeds begin; [n_classes] is the end */
};

/* The code that accesses: a = reads, b = writes. 0 or -ENOMEM; deinit in both cases. */
int mz_kmap_deeds_of_accesses(struct mz_kmap_deeds *d, const struct mz_kmap_model *m);
/* The code that frees, the processes that own: a = objects. The same otherwise. */
int mz_kmap_deeds_of_frees(struct mz_kmap_deeds *d, const struct mz_kmap_model *m);
int mz_kmap_deeds_of_owners(struct mz_kmap_deeds *d, const struct mz_kmap_model *m);
void mz_kmap_deeds_deinit(struct mz_kmap_deeds *d);

#endif
