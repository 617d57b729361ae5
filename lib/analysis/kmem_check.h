/* SPDX-License-Identifier: BSD-2-Clause */
/* Check a kernel trace: the file, and every record in it. */
#ifndef MZ_ANALYSIS_KMEM_CHECK_H
#define MZ_ANALYSIS_KMEM_CHECK_H

#include <memorizer.h>

struct mz_kmem_check {
	uint64_t records, lost, findings;
	uint64_t lost_by[MZ_LOSSES];
};

#define MZ_KMEM_NO_RECORD UINT64_MAX /* the finding is about the file, not about a record */

typedef void mz_kmem_check_note(void *arg, uint64_t offset, uint64_t record, const char *text);

/* Checks a kernel trace in any format and calls note for each finding. Raw records are read on
 * after a fault. flags: MZ_OPEN_LARGE. 0, also if there are findings; or -errno with err set: the
 * file cannot be read, or has no events. */
int mz_kmem_check_file(const char *path, unsigned flags, struct mz_kmem_check *to,
		       mz_kmem_check_note *note, void *arg, struct mz_error *err);

#endif
