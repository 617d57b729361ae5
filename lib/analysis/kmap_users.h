/* SPDX-License-Identifier: BSD-2-Clause */
/* Which code does what with the objects of a class of a KMAP: the largest first. */
#ifndef MZ_ANALYSIS_KMAP_USERS_H
#define MZ_ANALYSIS_KMAP_USERS_H

#include <stddef.h>
#include <stdint.h>

struct mz_kmap_model;

struct mz_kmap_user {
	uint32_t class, who; /* the number of a place, or of a process among owners */
	union {
		uint64_t reads;	  /* of code that accesses */
		uint64_t objects; /* that code frees, or that a process owns */
	};
	uint64_t writes; /* of code that accesses */
};

struct mz_kmap_users {
	struct mz_kmap_user *list; /* by class; no two with the same who */
	size_t n;
	uint32_t *first; /* by class: where its users begin; [n_classes] is the end */
};

/* The code that accesses the objects. 0 or -ENOMEM; deinit in both cases. */
int mz_kmap_users_of_accesses(struct mz_kmap_users *u, const struct mz_kmap_model *m);
/* The code that frees them, and the processes that own them. */
int mz_kmap_users_of_frees(struct mz_kmap_users *u, const struct mz_kmap_model *m);
int mz_kmap_users_of_owners(struct mz_kmap_users *u, const struct mz_kmap_model *m);
void mz_kmap_users_deinit(struct mz_kmap_users *u);

#endif
