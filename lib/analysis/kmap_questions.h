/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about the model of a KMAP. Each fills an answer that the caller deinits; a.failed shows
 * that memory ran out. Rows are sorted, the largest first; members by structure and offset. */
#ifndef MZ_ANALYSIS_KMAP_QUESTIONS_H
#define MZ_ANALYSIS_KMAP_QUESTIONS_H

#include "analysis/kmap.h"
#include "analysis/result_table.h"

/* Which code accesses which code's objects, at the level that the model was read with. */
void mz_kmap_matrix(const struct mz_kmap_model *m, struct mz_result_table *a);

/* Classes of objects that match (shell pattern, or a part of the name) by cache, type,
 * variable, allocating function or file. NULL matches all. */
void mz_kmap_classes(const struct mz_kmap_model *m, const char *pattern, struct mz_result_table *a);

/* For those classes: the code that allocates, frees, reads and writes them. */
enum mz_kmap_role { MZ_KMAP_ALLOCATED, MZ_KMAP_FREED, MZ_KMAP_WRITTEN, MZ_KMAP_READ };
void mz_kmap_object(const struct mz_kmap_model *m, const char *pattern, enum mz_kmap_role role,
		    struct mz_result_table *a);

/* For those classes: their structures, and how these are known. */
void mz_kmap_types(const struct mz_kmap_model *m, const char *pattern, struct mz_result_table *a);

/* For the classes whose structure is known: which functions read and write which member.
 * names: how many functions are named per member; 0 = all. */
void mz_kmap_fields(const struct mz_kmap_model *m, const char *pattern, size_t names,
		    struct mz_result_table *a);

/* What a function (pattern) touches; the model was read by function. */
void mz_kmap_site(const struct mz_kmap_model *m, const char *pattern, struct mz_result_table *a);

/* Which code calls which, at the level that the model was read with. */
void mz_kmap_calls(const struct mz_kmap_model *m, struct mz_result_table *a);

/* Classes with objects that more than one subsystem, process or context touched. */
void mz_kmap_shared(const struct mz_kmap_model *m, struct mz_result_table *a);

/* Classes with objects that were never read, never written or never touched. */
void mz_kmap_unused(const struct mz_kmap_model *m, struct mz_result_table *a);

/* For a first overview. */
void mz_kmap_processes(const struct mz_kmap_model *m, struct mz_result_table *a);
void mz_kmap_accessors(const struct mz_kmap_model *m, struct mz_result_table *a);

#endif
