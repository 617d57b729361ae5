/* SPDX-License-Identifier: BSD-2-Clause */
/* What the questions about a KMAP share. */
#ifndef MZ_ANALYSIS_KMAP_SELECT_H
#define MZ_ANALYSIS_KMAP_SELECT_H

#include "analysis/kmap_questions.h"

bool mz_kmap_class_matches(const struct mz_kmap_model *m, uint32_t class, const char *pattern);
/* By class, to be freed; NULL = no memory. */
bool *mz_kmap_chosen_classes(const struct mz_kmap_model *m, const char *pattern);
/* Two cells: what it is, where it is allocated. */
void mz_kmap_class_texts(const struct mz_kmap_model *m, uint32_t class, struct mz_result_table *a,
			 union mz_result_cell *row);

#endif
