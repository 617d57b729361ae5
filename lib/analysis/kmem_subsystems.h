/* SPDX-License-Identifier: BSD-2-Clause */
/* What is live at the end of a kernel trace, by the folder of the source that allocated it. */
#ifndef MZ_ANALYSIS_KMEM_SUBSYSTEMS_H
#define MZ_ANALYSIS_KMEM_SUBSYSTEMS_H

#include "analysis/kmem.h"

struct mz_kmem_subsystem {
	char name[64]; /* "drivers/tty"; "?" = not known */
	uint64_t blocks, given, req;
	uint64_t of[MZ_KMEM_ALLOCATORS]; /* bytes given */
};

struct mz_kmem_subsystems {
	struct mz_kmem_subsystem *list; /* the largest first */
	size_t n;
};

/* Of a report that is complete. Subsystems for which there is no memory are missing. */
struct mz_kmem_subsystems mz_kmem_subsystems_of(const struct mz_kmem_report *r);
void mz_kmem_subsystems_free(struct mz_kmem_subsystems *s);

#endif
